"""`Reader`: follows a script statement by statement, symbolically; nothing of it is executed.

Names stand for numbers, texts, lists, dicts, tables and forms. Functions of the script are followed
where they are called; functions of others are those that `calls` knows, and anything else is
`Unknown`, which matters only where a model depends on it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ardchoice.scripts.evaluate import Evaluator
from ardchoice.scripts.forms import Form, UnreadableError, function
from ardchoice.scripts.lost import changed_in_place, forget, leaves_loop
from ardchoice.scripts.names import (
    LONGEST_LIST,
    MISTAKES,
    MOST_CALLS,
    MOST_STEPS,
    CallMade,
    Function,
    LoopLeftError,
    Names,
    ReturnedError,
    TooLongError,
    function_of,
    plain,
    reason_of,
)
from ardchoice.scripts.values import (
    Doubt,
    Foreign,
    Mapped,
    Record,
    Selected,
    Table,
    Unknown,
    as_form,
)


class Reader(Evaluator):
    """Follows a script.

    Parameters
    ----------
    text
        The script, for what doubts quote.
    calls
        Name of a function -> how it is understood.
    modules
        Name of a module -> its statements, for modules of the user's own.
    """

    def __init__(
        self,
        text: str,
        calls: Mapping[str, Callable[[Reader, CallMade], Any]],
        modules: Callable[[str], list[ast.stmt] | None] = lambda name: None,
    ) -> None:
        super().__init__()
        self.lines = text.splitlines()
        self.calls, self.modules = calls, modules
        self.top = Names({"__name__": "__main__"})
        self.steps = self.depth = 0
        self.called: set[int] = set()
        self.labels: dict[str, str] = {}
        """Text of an expression -> the name that the script gave it."""
        self.parameters: dict[str, Record] = {}
        self.captured: list[tuple[str, Record]] = []
        self.tables: list[Table] = []
        self.doubts: list[Doubt] = []
        self.module = ""
        self.line_of: dict[str, int] = {}
        self.assigned: dict[str, Any] = {}
        """The last value of every name, wherever it was given."""
        self.known: frozenset[str] = frozenset()
        """Functions of the script whose meaning is known, so that they are not followed."""
        self.verbs: Mapping[str, Callable[[Reader, ast.Call, Names], Any]] = {}
        """Functions whose arguments are about the columns of a table."""

    # -- Statements -------------------------------------------------------------------------

    def follow(self, statements: Iterable[ast.stmt]) -> None:
        """The whole script, as far as the budget allows."""
        try:
            self.block(statements, self.top)
        except TooLongError:
            self.doubts.append(Doubt(0, "", "it takes too many steps to follow to its end"))
        except (ReturnedError, LoopLeftError):
            pass
        except RecursionError:
            self.doubts.append(Doubt(0, "", "its parts are nested too deep"))

    def block(self, statements: Iterable[ast.stmt], names: Names) -> None:
        """Statements one after the other."""
        for statement in statements:
            self.step()
            try:
                self.statement(statement, names)
            except MISTAKES as error:
                unknown = Unknown(self.doubt(statement, reason_of(error)))
                self.spoil(statement, unknown, names)

    def step(self) -> None:
        """Count one step."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLongError

    def doubt(self, node: ast.AST, reason: str) -> Doubt:
        """A doubt about a part of the script."""
        line = int(getattr(node, "lineno", 0))
        shown = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        if self.module:
            return Doubt(0, "", f"{self.module}, line {line}: {reason}")
        return Doubt(line, shown if len(shown) <= 80 else shown[:77] + "...", reason)

    def doubt_of(self, made: CallMade, reason: str) -> Doubt:
        """A doubt about a call."""
        if self.module:
            return Doubt(0, "", f"{self.module}, line {made.line}: {reason}")
        return Doubt(made.line, made.text, reason)

    def spoil(self, statement: ast.stmt, unknown: Unknown, names: Names) -> None:
        """What a statement would have changed is not known any more."""
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
            targets = [statement.target]
        try:
            for target in targets:
                self.assign(target, unknown, names)
        except MISTAKES:
            targets = []
        if not targets:
            forget(statement, unknown.doubt, names, self.doubts)

    def statement(self, node: ast.stmt, names: Names) -> None:
        """One statement."""
        if isinstance(node, ast.Assign):
            value = self.value(node.value, names)
            for target in node.targets:
                self.note_line(target, node.lineno)
                self.assign(target, value, names)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.assign(node.target, self.value(node.value, names), names)
        elif isinstance(node, ast.AugAssign):
            both = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
            self.assign(node.target, self.value(both, names), names)
        elif isinstance(node, ast.Expr):
            self.in_place(node, self.value(node.value, names), names)
        elif isinstance(node, ast.FunctionDef):
            names.values[node.name] = function_of(node, names)
        elif isinstance(node, ast.Return):
            raise ReturnedError(None if node.value is None else self.value(node.value, names))
        elif isinstance(node, ast.For):
            self.loop(node, names)
        elif isinstance(node, ast.If):
            self.branch(node, names)
        elif isinstance(node, ast.With):
            self.block(node.body, names)
        elif isinstance(node, ast.Try):
            self.block([*node.body, *node.orelse, *node.finalbody], names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self.imported(node, names)
        elif isinstance(node, ast.Break | ast.Continue):
            raise LoopLeftError(is_break=isinstance(node, ast.Break))
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self.delete(target, names)
        elif isinstance(node, ast.While):
            raise UnreadableError("while loops are not followed")
        elif isinstance(node, ast.Match):
            raise UnreadableError("this statement is not followed")

    def in_place(self, node: ast.Expr, value: Any, names: Names) -> None:
        """A call that stands for itself: what it changes, where it changes something."""
        target = changed_in_place(node)
        if isinstance(value, Unknown):
            forget(node, value.doubt, names, self.doubts)
        elif target is not None and value is not None:
            on = self.value(target, names)
            if isinstance(on, Table) and isinstance(value, Table):
                on.__dict__.update(value.copy().__dict__)
            else:
                self.assign(target, value, names)

    def note_line(self, target: ast.expr, line: int) -> None:
        """Remember where a name, or an entry of a dict, was last given a value."""
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            self.line_of[str(target.slice.value)] = line
        elif isinstance(target, ast.Name):
            self.line_of[target.id] = 0 if self.module else line

    def loop(self, node: ast.For, names: Names) -> None:
        """A loop over a list that is known."""
        for value in self.items(self.value(node.iter, names)):
            self.assign(node.target, value, names)
            try:
                self.block(node.body, names)
            except LoopLeftError as left:
                if left.is_break:
                    return
        self.block(node.orelse, names)

    def branch(self, node: ast.If, names: Names) -> None:
        """The branch that is taken; both, with a doubt, where the condition is not known."""
        try:
            test = self.truth(self.value(node.test, names))
        except UnreadableError as error:
            doubt = self.doubt(node, f"{error}, so that both branches are read")
            self.both(node, doubt, names)
            return
        self.block(node.body if test else node.orelse, names)

    def both(self, node: ast.If, doubt: Doubt, names: Names) -> None:
        """Both branches, without one that ends a round of a loop."""
        before = dict(names.values)
        forget(node, doubt, Names(dict(before), names.outer), self.doubts)
        try:
            for statements in (node.body, node.orelse):
                if not leaves_loop(statements):
                    self.block(statements, names)
        except ReturnedError as returned:
            if isinstance(returned.value, Form | dict | Table):
                self.doubts.append(doubt)
            raise
        changed = (names.values[n] is not v for n, v in before.items() if isinstance(v, Form))
        if any(changed) and doubt not in self.doubts:
            self.doubts.append(doubt)

    def imported(self, node: ast.Import | ast.ImportFrom, names: Names) -> None:
        """Names of modules; modules of the user's own are followed."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                names.values[alias.asname or whole] = Foreign(whole)
            return
        module = node.module or ""
        statements = self.modules(module)
        inner = Names({"__name__": module})
        if statements is not None and self.depth < MOST_CALLS:
            before, self.module = self.module, module
            self.depth += 1
            self.block(statements, inner)
            self.depth -= 1
            self.module = before
        for alias in node.names:
            if alias.name == "*":
                names.values |= inner.values
                self.columns_are_names |= module.endswith("headers")
            else:
                found = inner.values.get(alias.name, Foreign(f"{module}.{alias.name}"))
                names.values[alias.asname or alias.name] = found

    # -- Assignment -------------------------------------------------------------------------

    def assign(self, target: ast.expr, value: Any, names: Names) -> None:
        """Give a name, a column, an entry or several of them a value."""
        if isinstance(target, ast.Name):
            names.values[target.id] = value
            self.assigned[target.id] = value
            self.label(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            given = list(self.items(value))
            if len(given) != len(target.elts):
                raise UnreadableError("the number of values is another one")
            for one, each in zip(target.elts, given, strict=True):
                self.assign(one, each, names)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            self.assign_part(target, value, names)
        else:
            raise UnreadableError("this cannot be given a value")

    def label(self, name: str, value: Any) -> None:
        """Remember the name of an expression, so that its column may be called so."""
        if isinstance(value, Form) and value.is_pure and value.monomials:
            self.labels.setdefault(str(value.pure()), name)

    def assign_part(self, target: ast.Attribute | ast.Subscript, value: Any, names: Names) -> None:
        """A column of a table, or an entry of a dict or list."""
        if isinstance(target, ast.Attribute):
            on = self.value(target.value, names)
            if isinstance(on, Record):
                on.values[target.attr] = value
            elif isinstance(on, Table) and target.attr == "columns":
                raise UnreadableError("columns get other names")
            elif isinstance(on, Table):
                self.set_column(on, target.attr, value)
            return
        if isinstance(target.value, ast.Attribute) and target.value.attr in ("loc", "at"):
            table = self.value(target.value.value, names)
            if isinstance(table, Table):
                self.set_where(table, target.slice, value, names)
                return
        on, key = self.value(target.value, names), self.value(target.slice, names)
        if isinstance(on, Table) and isinstance(key, str):
            self.set_column(on, key, value)
        elif isinstance(on, Table) and isinstance(key, list | tuple | Selected):
            columns = key.names if isinstance(key, Selected) else key
            for one, each in zip(columns, self.items(value), strict=True):
                self.set_column(on, str(one), each)
        elif isinstance(on, dict):
            on[key.last if isinstance(key, Foreign) else key] = value
        elif isinstance(on, list) and isinstance(key, int):
            on[key] = value
        else:
            raise UnreadableError("this cannot be given a value")

    def set_column(self, table: Table, name: str, value: Any) -> None:
        """A column of a table; one that is not understood is remembered as such."""
        table.mapped.pop(name, None)
        if isinstance(value, Mapped):
            table.columns[name] = value.of.pure()
            table.mapped[name] = value.by
            return
        if isinstance(value, Unknown | Foreign):
            table.columns.pop(name, None)
            reason = value.doubt if isinstance(value, Unknown) else None
            table.mapped[name] = {None: reason}  # not to be used
            return
        table.columns[name] = as_form(value).pure(f"the column {name}")

    def set_where(self, table: Table, where: ast.expr, value: Any, names: Names) -> None:
        """``table.loc[condition, "column"] = value``."""
        if not isinstance(where, ast.Tuple) or len(where.elts) != 2:
            raise UnreadableError("rows are changed in a way that is not known")
        condition = as_form(self.value(where.elts[0], names)).pure("a condition")
        name = self.value(where.elts[1], names)
        if not isinstance(name, str):
            raise UnreadableError("several columns are changed at once")
        old, new = table.column(name).pure(), as_form(value).pure()
        table.columns[name] = function("if", condition, new, old)

    # -- Parts and calls --------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute, names: Names) -> Any:
        on = self.value(node.value, names)
        if isinstance(on, Foreign):
            return Foreign(f"{on.path}.{node.attr}")
        if isinstance(on, Unknown):
            return on
        if isinstance(on, Form | Mapped) and node.attr in ("values", "str", "T"):
            return on
        if isinstance(on, Table) and node.attr in ("loc", "data", "iloc", "dataframe", "index"):
            return on
        if isinstance(on, Record) and node.attr in on.values:
            return on.values[node.attr]
        if isinstance(on, Table):
            return self.column(on, node.attr)
        return Unknown(self.doubt(node, f"{node.attr} is not understood"))

    def column(self, table: Table, name: str) -> Any:
        """A column of a table."""
        if name in table.mapped:
            by = table.mapped[name]
            if set(by) == {None}:
                doubt = by[None] or Doubt(0, "", "it is not known")
                return Unknown(Doubt(doubt.line, doubt.text, f"column {name}: {doubt.reason}"))
            return Mapped(table.column(name), by)
        return table.column(name)

    def _subscript(self, node: ast.Subscript, names: Names) -> Any:
        on = self.value(node.value, names)
        if isinstance(on, Unknown):
            return on
        if isinstance(node.slice, ast.Slice):
            if not isinstance(on, Table):
                return Unknown(self.doubt(node, "slices are not followed"))
            everything = node.slice.lower is node.slice.upper is None
            return on if everything else on.doubted(self.doubt(node, "rows chosen by position"))
        key = self.value(node.slice, names)
        if isinstance(on, Table):
            return self.part_of_table(on, key, node)
        if isinstance(key, Foreign):
            key = key.last
        if isinstance(on, dict):
            if key not in on:
                raise UnreadableError(f"there is no entry {key!r:.40}")
            return on[key]
        if isinstance(on, list | tuple | str) and isinstance(key, int):
            return on[key]
        if isinstance(on, Foreign) and isinstance(key, str):
            return Foreign(f"{on.path}.{key}")
        if isinstance(on, Form | Mapped):  # of some rows; which ones, the table knows
            return on
        return Unknown(self.doubt(node, "this part is not understood"))

    def part_of_table(self, table: Table, key: Any, node: ast.AST) -> Any:
        """A column, several columns, or the rows where a condition holds."""
        if isinstance(key, str):
            return self.column(table, key)
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], str):
            return self.column(table, key[1])
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], Form | bool):
            key = key[0]
        if key is True:
            return table
        if isinstance(key, list | tuple) and all(isinstance(k, str) for k in key):
            return Selected(tuple(key), table)
        if isinstance(key, Form):
            kept = table.filtered(key.pure("a filter"))
            if self.known:
                self.tables.append(kept)
            return kept
        reason = "rows are chosen in a way that is not understood"
        return table.doubted(self.doubt(node, reason))

    def _starred(self, node: ast.Starred, names: Names) -> Any:
        return self.value(node.value, names)

    def _call(self, node: ast.Call, names: Names) -> Any:
        on: Any = None
        if isinstance(node.func, ast.Attribute):
            on = self.value(node.func.value, names)
            function: Any = Foreign(node.func.attr)
            if isinstance(on, Foreign):
                function = Foreign(f"{on.path}.{node.func.attr}")
            elif isinstance(on, Record) and isinstance(on.values.get(node.func.attr), Function):
                function = on.values[node.func.attr]
        else:
            function = self.value(node.func, names)
        verb = self.verbs.get(function.last) if isinstance(function, Foreign) else None
        if verb is not None and (found := verb(self, node, names)) is not NotImplemented:
            return found
        call = self.call_made(node, function, on, names)
        handler = self.calls.get(call.name)
        if isinstance(function, Function) and call.name not in self.known:
            return self.follow_call(function, call)
        if handler is not None:
            found = handler(self, call)
            if found is not NotImplemented:
                return found
        for value in (on, *call.arguments, *call.keywords.values()):
            if isinstance(value, Unknown):
                return value
        return Unknown(self.doubt(node, f"{call.name} is not understood"))

    def call_made(self, node: ast.Call, function: Any, on: Any, names: Names) -> CallMade:
        """The call with its arguments."""
        name = function.last if isinstance(function, Foreign) else ""
        if not name:
            name = node.func.id if isinstance(node.func, ast.Name) else type(function).__name__
        arguments: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments += self.items(self.value(argument, names))
            else:
                arguments.append(self.entry(argument, names))
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.entry(keyword.value, names)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, dict):
                keywords |= {str(k): v for k, v in value.items()}
        line = int(getattr(node, "lineno", 0))
        doubt = self.doubt(node, "")
        return CallMade(name, on, tuple(arguments), keywords, line, doubt.text)

    def follow_function(self, function: Function, call: CallMade) -> Any:
        """A function that nobody in the script calls."""
        try:
            return self.follow_call(function, call)
        except TooLongError:
            self.doubts.append(Doubt(0, "", "it takes too many steps to follow to its end"))
        except RecursionError:
            self.doubts.append(Doubt(0, "", "its parts are nested too deep"))
        return None

    def follow_call(self, function: Function, call: CallMade) -> Any:
        """A call of a function of the script."""
        if self.depth >= MOST_CALLS:
            raise UnreadableError("functions call each other too deep")
        self.called.add(id(function))
        inner = Names(dict(zip(function.parameters, call.arguments, strict=False)), function.names)
        for name, node in function.defaults.items():
            if name not in inner.values:
                inner.values[name] = self.value(node, function.names)
        inner.values |= call.keywords
        self.depth += 1
        try:
            self.block(function.body, inner)
        except ReturnedError as returned:
            return returned.value
        except LoopLeftError:
            return None
        finally:
            self.depth -= 1
        return None


__all__ = ["LONGEST_LIST", "CallMade", "Function", "Names", "Reader", "plain"]
