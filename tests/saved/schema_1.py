"""Makes the study of `schema_1`: run once, when the schema was new. Never run it again."""

import json
import sys
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import ardchoice as ac  # noqa: E402
from ardchoice.evaluation import evaluate  # noqa: E402
from ardchoice.saved.plain import plain  # noqa: E402
from selection.selection_support import made, usual  # noqa: E402

if __name__ == "__main__":
    data = made(450, 1, usual)
    space = ac.SearchSpace(data, ["linear", "log1p", "segments(3)"], by=["G"])
    structure = ac.Structure(signs={"TT": "-", "CO": "-"})
    study = ac.specify(data, space, structure=structure, seed=5)
    study = replace(study, evaluation=evaluate(study, folds=2, stability_pairs=1))
    study.save(HERE / "schema_1")
    expected = {
        "specification": study.specification.to_text(),
        "loglik": study.result.loglik,
        "estimates": study.result.estimates.to_dict(),
        "version": study.version,
        "lambda": study.fit.lam,
    }
    path = HERE / "schema_1" / "expected.json"
    path.write_text(json.dumps(plain(expected), indent=1) + "\n", encoding="utf-8")
