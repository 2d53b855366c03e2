"""`ardchoice demo`: the whole job on the Swissmetro data of the package."""

from __future__ import annotations

import sys

import click

import ardchoice as ac
from ardchoice.cli.ending import Code


@click.command()
def demo() -> None:
    """Find, estimate and explain a specification on the Swissmetro data of the package."""
    data = ac.datasets.swissmetro_choices("real")
    space = ac.swissmetro_space(data, "medium")
    click.echo("Swissmetro: train, the planned Swissmetro (SM), or car?\n", err=True)
    click.echo(f"{data}\n\nWhat could matter:\n{space}\n")
    # Nobody likes to travel longer or to pay more.
    structure = ac.Structure(signs={"TT": "-", "CO": "-"})
    study = ac.specify(data, space, structure=structure, progress=True)
    click.echo(f"{study}\n")
    published = ac.fit_mnl(data, ac.datasets.swissmetro_specification("R6"))
    click.echo(
        f"BIC {study.result.bic:,.1f}; the best published specification of these data (R6): "
        f"{published.bic:,.1f}\n"
    )
    # TT is in hours and CO in hundreds of francs.
    result = study.result
    worth = result.wtp("TT", "CO", by=[]).set_index("alternative")[["estimate", "std_err"]] * 100
    click.echo("value of time, francs an hour")
    click.echo(worth.round(1).to_string(index_names=False))
    if not (study.fit.converged and result.converged):
        sys.exit(Code.NOT_CONVERGED)
