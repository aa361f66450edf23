"""`whilly worker`: workers on this and other machines."""

import typer

from whilly.cli import fleet

app = typer.Typer(no_args_is_help=True, help="Workers: list, drain, resume.")
app.command("list")(fleet.list_)
app.command()(fleet.drain)
app.command()(fleet.resume)
