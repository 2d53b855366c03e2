"""Pictures of docs/tutorial.md and of the README: the study of that page and the demo are run.

    python benchmarks/tutorial_pictures.py

needs Chromium for the report; the other pictures are made without.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from rich.console import Console

import ardchoice as ac
from ardchoice.progress import Event
from ardchoice.progress.views import PhaseTable
from ardchoice.run import run_study
from ardchoice.settings import read_settings

ROOT = Path(__file__).parents[1]
PAGE, PICTURES = ROOT / "docs" / "tutorial.md", ROOT / "docs" / "images" / "tutorial"
STUDY = re.compile(r"^```toml\n(# study\.toml\n.*?)^```", re.DOTALL | re.MULTILINE)
FONT = re.compile(r"@font-face \{\{.*?\}\}", re.DOTALL)
SIZE = "1080,1180"
"""Of the part of the report that is shown."""
WIDTH = 80
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def main() -> None:
    """Run the study and draw."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        found = STUDY.search(PAGE.read_text(encoding="utf-8"))
        if found is None:
            raise SystemExit(f"{PAGE} has no study file in it.")
        (folder / "study.toml").write_text(found[1], encoding="utf-8")
        ac.datasets.swissmetro().to_csv(folder / "swissmetro.csv", index=False)
        settings, watch = read_settings(folder / "study.toml"), _Watch()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ac.ArdchoiceWarning)
            run_study(
                settings,
                folder / "results",
                base=folder,
                listener=watch,
                command="ardchoice run study.toml",
            )
        shutil.copy(folder / "results" / "figures" / "relevance.png", PICTURES)
        _photograph(folder / "results" / "report.html", PICTURES / "report.png")
    (PICTURES / "progress.svg").write_text(watch.picture, encoding="utf-8")
    with tempfile.TemporaryDirectory() as made:
        demo = Path(made) / "demo"
        subprocess.run(
            [sys.executable, "-m", "ardchoice", "demo", "--out", str(demo)],
            check=True,
            capture_output=True,
        )
        _photograph(demo / "results" / "report.html", PICTURES.parent / "report.png")


class _Watch:
    """Draws the live view as it is in the third fold."""

    def __init__(self) -> None:
        self.phases, self.picture = PhaseTable(), ""

    def __call__(self, event: Event) -> None:
        self.phases.update(event)
        if event.text.startswith("fold 3") and not self.picture:
            console = Console(record=True, width=WIDTH, file=io.StringIO())
            console.print("$ ardchoice run study.toml")
            console.print(self.phases)
            self.picture = _svg(console)


def _svg(console: Console) -> str:
    """Without fonts from elsewhere."""
    from rich._export_format import CONSOLE_SVG_FORMAT

    return console.export_svg(title="", code_format=FONT.sub("", CONSOLE_SVG_FORMAT))


def _photograph(page: Path, picture: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("No Chromium: the report is not photographed.")
        return
    with tempfile.TemporaryDirectory() as profile:
        options = [*QUIET, f"--user-data-dir={profile}", f"--window-size={SIZE}"]
        subprocess.run(
            [browser, *options, f"--screenshot={picture}", page.as_uri()],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    main()
