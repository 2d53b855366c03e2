"""`ardchoice run`: the whole job, from a study file to a report."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click

import ardchoice as ac
from ardchoice.cli.console import Console, say
from ardchoice.cli.exit_codes import Code
from ardchoice.cli.places import command_line, new_folder
from ardchoice.cluster import closing
from ardchoice.progress import Event, Kind, listening
from ardchoice.run import REPORT, run_study
from ardchoice.settings import read_settings, telling_lines


@click.command(short_help="Do the whole job; ends with a report.")
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--out", type=new_folder, help="Folder to write; the study file says it if left.")
@click.option("--resume", is_flag=True, help="Go on with a run that was interrupted.")
@click.option("--force", is_flag=True, help="Overwrite a folder that is there.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Progress and result as JSON, line by line.")
@click.option("--dask", metavar="ADDRESS", help="Scheduler of a Dask cluster, or 'local'.")
@click.pass_obj
def run(
    voice: Console,
    study: Path,
    out: Path | None,
    resume: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
    dask: str | None,
) -> None:
    """Do the whole job that a STUDY file describes.

    Reads the table, finds how relevant every candidate is, searches for the specification that the
    data support, estimates it, predicts persons left out, and writes a folder: report.html,
    specification.txt, estimates.csv, relevance.csv, tables, figures, exports and the study itself.
    What is done is kept on the way: Ctrl-C loses little, and --resume goes on.

    \b
    Examples:
      ardchoice run study.toml
      ardchoice run study.toml --out results-2 --quiet
      ardchoice run study.toml --resume
      ardchoice run study.toml --dask tcp://10.0.0.1:8786
    """  # noqa: D301 - click reads the backspace
    if quiet and as_json:
        raise click.UsageError("--quiet and --json exclude one another.")
    voice.as_json = as_json
    settings, base = read_settings(study), study.parent
    folder = base / settings.output.folder if out is None else out
    again = ["run", study, *(["--out", out] if out else []), *(["--dask", dask] if dask else [])]
    voice.resume = command_line(*again, "--resume")
    kind: Kind = "json" if as_json else "quiet" if quiet else "auto"
    heard: list[str] = []

    def hear(event: Event) -> None:
        heard.append(event.phase)
        listener(event)

    with working(dask) as executor, listening(kind) as listener, telling_lines(study):
        made = run_study(
            settings,
            folder,
            base=base,
            resume=resume,
            force=force,
            listener=hear,
            command=command_line(*again),
            executor=executor,
        )
    if not heard:
        voice.warning(f"'{folder}' was finished before, so nothing was left to do.")
    if as_json:
        click.echo(json.dumps(_essentials(made, folder)))
    else:
        say(f"{made}\n")
    end_of(voice, made, folder)


def working(dask: str | None) -> AbstractContextManager[Any]:
    """The workers of a cluster while it lasts; None for this process."""
    return nullcontext() if dask is None else closing(ac.connect(dask))


def end_of(voice: Console, study: ac.Study, folder: Path) -> None:
    """The last line is the path of the report; the code says whether all converged."""
    if not voice.as_json:
        click.echo(folder / REPORT)
    fits = {"Relevance": study.fit.converged, "Estimation": study.result.converged}
    failed = [name for name, converged in fits.items() if not converged]
    if failed:
        voice.error(
            f"{' and '.join(failed)} did not converge: look at the report before using this.",
            Code.NOT_CONVERGED,
        )
        raise click.exceptions.Exit(Code.NOT_CONVERGED)


def _essentials(study: ac.Study, folder: Path) -> dict[str, object]:
    result = study.result
    return {
        "folder": str(folder),
        "report": str(folder / REPORT),
        "specification": study.specification.to_text(),
        "loglik": result.loglik,
        "coefficients": result.n_parameters,
        "bic": result.bic,
        "converged": bool(study.fit.converged and result.converged),
    }
