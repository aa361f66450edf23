"""`whilly worker`: workers on this and other machines."""

import typer

from whilly.cli import fleet, register

app = typer.Typer(no_args_is_help=True, help="Workers: join, list, drain, resume.")
app.command("register")(register.register)
app.command("connect", context_settings={"ignore_unknown_options": True})(register.connect)
app.command("list")(fleet.list_)
app.command()(fleet.drain)
app.command()(fleet.resume)
