"""`ardchoice run`: the whole job, from a study file to a report."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

import ardchoice as ac
from ardchoice.cli.console import Console
from ardchoice.cli.exit_codes import Code
from ardchoice.cli.places import command_line, new_folder

if TYPE_CHECKING:
    from ardchoice.progress import Event


@click.command(short_help="Do the whole job; ends with a report.")
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--out", type=new_folder, help="Folder to write. Default: as in the study file.")
@click.option("--resume", is_flag=True, help="Resume a run that was interrupted.")
@click.option("--force", is_flag=True, help="Overwrite a folder that exists.")
@click.option("--accept-guesses", is_flag=True, help="Run although guesses are not confirmed.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Progress and result as JSON, line by line.")
@click.option("--dask", metavar="ADDRESS", help="Scheduler of a Dask cluster, or 'local'.")
@click.pass_obj
def run(
    console: Console,
    study: Path,
    out: Path | None,
    resume: bool,
    force: bool,
    accept_guesses: bool,
    quiet: bool,
    as_json: bool,
    dask: str | None,
) -> None:
    """Do the whole job that a STUDY file describes.

    Reads the table, estimates the relevance of every candidate term, searches for the specification
    that the data support, estimates it, cross-validates, and writes a folder: report.html,
    specification.txt, estimates.csv, relevance.csv, tables, figures, exports and the study itself.
    Finished steps are checkpointed: after Ctrl-C, --resume continues from the last of them.

    \b
    Examples:
      ardchoice run study.toml
      ardchoice run study.toml --out results-2 --quiet
      ardchoice run study.toml --resume
      ardchoice run study.toml --dask tcp://10.0.0.1:8786
    """  # noqa: D301 - click reads the backspace
    from ardchoice.cluster import closing
    from ardchoice.progress import show_progress
    from ardchoice.run import run_study
    from ardchoice.settings import must_be_confirmed, read_settings, telling_lines

    if quiet and as_json:
        raise click.UsageError("--quiet and --json exclude one another.")
    console.as_json = as_json
    settings, base = read_settings(study), study.parent
    if not accept_guesses:
        with telling_lines(study):
            must_be_confirmed(settings)
    folder = base / settings.output.folder if out is None else out
    accepted = ["--accept-guesses"] if accept_guesses else []
    again = [
        "run",
        study,
        *accepted,
        *(["--out", out] if out else []),
        *(["--dask", dask] if dask else []),
    ]
    console.resume_command = command_line(*again, "--resume")
    phases: list[str] = []

    def observe(event: Event) -> None:
        phases.append(event.phase)
        listener(event)

    with (
        nullcontext() if dask is None else closing(ac.connect(dask)) as executor,
        show_progress("json" if as_json else "quiet" if quiet else "auto") as listener,
        telling_lines(study),
    ):
        finished = run_study(
            settings,
            folder,
            base=base,
            resume=resume,
            force=force,
            listener=observe,
            command=command_line(*again),
            executor=executor,
        )
    if not phases:
        console.warning(f"'{folder}' was finished before: there was nothing to do.")
    if as_json:
        click.echo(json.dumps(_essentials(finished, folder)))
    else:
        console.echo(f"{finished}\n")
    print_report_path(console, finished, folder)


def print_report_path(console: Console, study: ac.Study, folder: Path) -> None:
    """Print the path of the report, and exit with a code of its own where anything diverged."""
    from ardchoice.run import REPORT

    if not console.as_json:
        click.echo(folder / REPORT)
    fits = {"Relevance": study.fit.converged, "Estimation": study.result.converged}
    failed = [name for name, converged in fits.items() if not converged]
    if failed:
        console.error(
            f"{' and '.join(failed)} did not converge: see the report before using the results.",
            Code.NOT_CONVERGED,
        )
        raise click.exceptions.Exit(Code.NOT_CONVERGED)


def _essentials(study: ac.Study, folder: Path) -> dict[str, object]:
    from ardchoice.evaluation import alarms
    from ardchoice.run import REPORT

    result = study.result
    return {
        "folder": str(folder),
        "report": str(folder / REPORT),
        "specification": study.specification.to_text(),
        "loglik": result.loglik,
        "coefficients": result.n_parameters,
        "bic": result.bic,
        "converged": bool(study.fit.converged and result.converged),
        "alarms": [
            {"verdict": note.verdict, "title": note.title, "text": note.text}
            for note in alarms(study)
        ],
    }
