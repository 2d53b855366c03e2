"""The picture of the README: how relevant each candidate is, on data whose truth is known.

Run with an environment that has matplotlib: `python benchmarks/readme_figure.py`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import Patch

import ardchoice as ac

OUT = Path(__file__).parents[1] / "docs" / "images" / "relevance.png"
COLOURS = {"TRAIN": "#0072B2", "SM": "#D55E00", "CAR": "#009E73"}  # for colour-blind readers too
SHOWN = 14


def main() -> None:
    """Draw choices from a known specification, ask what matters, mark what is true."""
    truth = ac.parse_specification(ac.datasets.swissmetro_specification("S2"))
    data = ac.simulate_choices(ac.datasets.swissmetro_choices(), truth, seed=0)
    space = ac.SearchSpace(data, ["linear", "log1p"], by=["GA", "AGE", "PURPOSE"], base="CAR")
    table = ac.fit_ard(data, space, prior=ac.Prior(shrink_constants=True)).table().head(SHOWN)
    true = {str(term) for term in truth.terms}
    figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    places = range(SHOWN)[::-1]
    colours = [COLOURS[a] for a in table["alternative"]]
    axes.barh(places, table["lambda"], color=colours, height=0.65)
    axes.set_yticks(places, [f"{t}  ●" if t in true else t for t in table["term"]])
    axes.set_xscale("log")
    axes.set_xlabel("relevance λ (prior variance that maximises the evidence)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend([Patch(color=c) for c in COLOURS.values()], list(COLOURS), frameon=False)
    axes.set_title(
        f"{len(space)} candidates, the {SHOWN} most relevant; ● in the true specification",
        fontsize=10,
        loc="left",
    )
    OUT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT, dpi=150)


if __name__ == "__main__":
    main()
