"""A report shows what others computed: it calls nothing that estimates, searches or validates."""

import ast
from pathlib import Path

import ardchoice.report

ESTIMATORS = {
    *("fit", "fit_mnl", "fit_ard", "select", "specify", "simulate_choices", "evaluate"),
    *("cross_validate", "held_out", "score_refit", "selection_path", "stability", "baselines"),
}


def test_report_imports_nothing_that_estimates() -> None:
    folder = Path(ardchoice.report.__file__).parent
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and "ardchoice.report" not in str(node.module):
                assert not ESTIMATORS & {alias.name for alias in node.names}, path
