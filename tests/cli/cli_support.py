"""Tables as people have them, and the command line as they type it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner, Result

import ardchoice as ac
from ardchoice.cli.app import cli

MODES = Path(__file__).parents[1] / "reference" / "modechoice.csv"
PERSONS = 60
"""Of Swissmetro, where a part will do."""


def command(*words: object, code: int | None = 0) -> Result:
    """Run in this process; the code must be as told, and no traceback is ever shown."""
    result = CliRunner().invoke(cli, [str(w) for w in words])
    shown = f"{words}\n{result.output}"
    assert code is None or result.exit_code == code, shown
    assert "Traceback" not in result.output, shown
    return result


def installed(
    *words: object, cwd: Path | None = None, code: int | None = 0
) -> subprocess.CompletedProcess[str]:
    """Run the command as it is installed."""
    script = Path(sys.executable).with_name("ardchoice")
    done = subprocess.run(
        [script, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=300,
        check=False,
        env=os.environ | {"COLUMNS": "80"},
    )
    assert code is None or done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stdout + done.stderr
    return done


# -- Tables --------------------------------------------------------------------------------------


def swissmetro_raw(folder: Path, persons: int | None = PERSONS) -> Path:
    """The table as it was published, or that of the first persons."""
    table = ac.datasets.swissmetro()
    if persons is not None:
        table = table[table["ID"] <= persons]
    path = folder / "swissmetro.csv"
    table.to_csv(path, index=False)
    return path


def mode_choice(folder: Path) -> Path:
    """Statsmodels' mode choice: long, separated by semicolons."""
    path = folder / "modechoice.csv"
    path.write_bytes(MODES.read_bytes())
    return path


def parquet(folder: Path) -> Path:
    """Swissmetro with names for codes, as Parquet."""
    table = ac.datasets.swissmetro()
    table = table[(table["ID"] <= PERSONS) & (table["CHOICE"] != 0)]
    table = table.assign(CHOICE=table["CHOICE"].map({1: "TRAIN", 2: "SM", 3: "CAR"}))
    path = folder / "swissmetro.parquet"
    table.to_parquet(path, index=False)
    return path


def german(folder: Path, n: int = 500) -> Path:
    """Semicolons, decimal commas, latin-1, as a spreadsheet of Zürich writes it."""
    rng = np.random.default_rng(4)
    modes = ["Zug", "Auto", "Velo"]
    table = pd.DataFrame({"Person": np.arange(n) // 2})
    value = np.empty((3, n))
    for j, mode in enumerate(modes):
        table[f"Zeit_{mode}"] = rng.uniform(5, 60, n).round(1)
        value[j] = -0.06 * table[f"Zeit_{mode}"]
        if mode != "Velo":
            table[f"Preis_{mode}"] = rng.uniform(1, 20, n).round(2)
            value[j] -= 0.12 * table[f"Preis_{mode}"]
    table["Geschlecht"] = np.where(rng.random(n) < 0.5, "männlich", "weiblich")
    value[2] += table["Geschlecht"] == "männlich"
    table["Wahl"] = np.array(modes)[(value + rng.gumbel(size=value.shape)).argmax(axis=0)]
    path = folder / "wege.csv"
    table.to_csv(path, index=False, sep=";", decimal=",", encoding="latin-1")
    return path


def unlabelled(folder: Path, n: int = 150, alternatives: int = 200) -> Path:
    """Many alternatives that are only numbers, choice sets of twenty, long."""
    rng = np.random.default_rng(5)
    situation = np.repeat(np.arange(n), 20)
    which = np.concatenate([rng.permutation(alternatives)[:20] + 1 for _ in range(n)])
    price, size = rng.uniform(1, 9, n * 20).round(2), rng.normal(size=n * 20).round(3)
    value = (-0.8 * price + size + rng.gumbel(size=n * 20)).reshape(n, 20)
    chosen = (value == value.max(axis=1, keepdims=True)).astype(int).ravel()
    table = pd.DataFrame(
        {"task": situation, "product": which, "price": price, "size": size, "chosen": chosen}
    )
    path = folder / "products.csv"
    table.to_csv(path, index=False)
    return path


def lines_of(text: str) -> Sequence[str]:
    """Without empty ones."""
    return [line for line in text.splitlines() if line.strip()]
