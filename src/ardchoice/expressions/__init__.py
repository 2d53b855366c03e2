"""Expressions over columns, such as ``TRAIN_CO * (GA == 0)``: a grammar of our own, never eval."""

from ardchoice.expressions.evaluate import Evaluated, evaluate, evaluate_condition
from ardchoice.expressions.parse import parse_expression
from ardchoice.expressions.syntax import (
    FUNCTIONS,
    Call,
    Column,
    Expression,
    ExpressionError,
    Literal,
    Operation,
    Place,
    column_names,
)

__all__ = [
    "FUNCTIONS",
    "Call",
    "Column",
    "Evaluated",
    "Expression",
    "ExpressionError",
    "Literal",
    "Operation",
    "Place",
    "column_names",
    "evaluate",
    "evaluate_condition",
    "parse_expression",
]
