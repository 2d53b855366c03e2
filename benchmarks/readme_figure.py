"""The picture of the README: value of travel time by mode and season ticket."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

import ardchoice as ac

OUT = Path(__file__).parents[1] / "docs" / "images" / "value_of_time.png"
COLOURS = {"GA=0": "#0072B2", "GA=1": "#D55E00"}  # told apart by colour-blind readers too
LABELS = {"GA=0": "without season ticket", "GA=1": "with season ticket"}
SPECIFICATION = """
    TRAIN: ASC + ASC x GA + TT + TT x GA + CO
    SM:    ASC + ASC x GA + TT + TT x GA + CO
    CAR:   TT + TT x GA + CO
"""


def main() -> None:
    """Estimate, and draw point estimates with their intervals."""
    data = ac.datasets.swissmetro_choices("real")
    worth = ac.fit_mnl(data, SPECIFICATION).wtp("TT", "CO")
    figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
    for i, (segment, colour) in enumerate(COLOURS.items()):
        rows = worth[worth["segment"] == segment].set_index("alternative")
        rows = rows.loc[["CAR", "SM", "TRAIN"]] * 1  # top to bottom in the picture
        y = [k + 0.12 * (1 - 2 * i) for k in range(len(rows))]
        # TT is in hours, CO in hundreds of francs.
        centre = 100 * rows["estimate"].to_numpy(dtype=float)
        half = 100 * (rows["high"] - rows["estimate"]).to_numpy(dtype=float)
        axes.errorbar(centre, y, xerr=half, fmt="o", color=colour, label=LABELS[segment], capsize=3)
    axes.set_yticks(range(3), ["Car", "Swissmetro", "Train"])
    axes.set_xlabel("value of travel time, francs per hour (95 % interval, clustered by person)")
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT, dpi=160)


if __name__ == "__main__":
    main()
