"""`whilly db`: where the database is, whether its schema fits, and who uses it."""

import json
import os
import signal
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whilly.core.errors import Refused
from whilly.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

app = typer.Typer(no_args_is_help=True, help="The database: where it is, its schema, who uses it.")


@dataclass(frozen=True)
class Status:
    """What `whilly db status` says."""

    kind: str
    """`embedded` or `server`."""
    where: str
    running: bool
    """Whether it ran before this look, which starts an embedded server for a moment."""
    server_version: str | None
    schema: str | None
    wanted_schema: str
    users: list[dict[str, Any]]

    @property
    def fits(self) -> bool:
        """Whether this program can work with the schema."""
        return self.schema == self.wanted_schema


@app.command()
def status(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Say where the database is. Also its version, its schema, and who uses it."""
    import asyncio

    found = asyncio.run(_status(Settings.from_environment()))
    if as_json:
        typer.echo(json.dumps(asdict(found) | {"fits": found.fits}, indent=2, ensure_ascii=False))
        return
    for title, text in _told(found):
        typer.echo(f"{title:<10}{text}".rstrip())


@app.command()
def upgrade() -> None:
    """Give the database the schema that this version of Whilly needs."""
    import asyncio

    applied, version = asyncio.run(_upgrade(Settings.from_environment()))
    if applied:
        typer.echo(f"Applied {', '.join(applied)}; the database has schema {version} now.")
    else:
        typer.echo(f"The database has schema {version} already.")


@app.command()
def stop(
    force: Annotated[bool, typer.Option("--force", help="Cut off the processes that use it.")] = False,
) -> None:
    """Stop the embedded PostgreSQL. It stops by itself when the last whilly process ends."""
    settings = Settings.from_environment()
    if settings.database_url is not None:
        raise Refused("WHILLY_DATABASE_URL names a server that Whilly did not start, so Whilly does not stop it.")

    from whilly.store import embedded

    ran = embedded.stop(settings.data_dir, force=force)
    if not ran:
        typer.echo("The embedded PostgreSQL was not running.")
        return
    waits = " Runs that were using it wait until a whilly command starts it again." if force else ""
    typer.echo(f"The embedded PostgreSQL has stopped.{waits}")


@app.command()
def url(
    hold: Annotated[bool, typer.Option("--hold", help="Keep the embedded server running until Ctrl-C.")] = False,
) -> None:
    """Print the database's address, password included. It is for psql and the like."""
    settings = Settings.from_environment()
    if settings.database_url is not None:
        typer.echo(settings.database_url)
        return

    from whilly.store import embedded

    with embedded.start(settings.data_dir) as running:
        typer.echo(running.url)
        if hold:
            typer.echo("It runs until Ctrl-C.", err=True)
            _wait_for_ctrl_c()
        elif not _others(settings.data_dir):
            typer.echo("It stops now, as nobody else uses it; `whilly db url --hold` keeps it running.", err=True)


async def _status(settings: Settings) -> Status:
    from whilly.cli.database import database_url
    from whilly.store import embedded, schema

    if settings.database_url is not None:
        return await _look(settings.database_url, "server", schema.shown(settings.database_url), True, None)
    where = str(settings.data_dir / "postgres")
    if not (settings.data_dir / "postgres" / "data").exists():
        return Status("embedded", where, False, None, None, schema.head(), [])
    running = embedded.served(settings.data_dir) is not None
    async with database_url(settings) as address:
        return await _look(address, "embedded", where, running, _others(settings.data_dir))


async def _look(address: str, kind: str, where: str, running: bool, users: list[dict[str, Any]] | None) -> Status:
    from whilly.store import schema

    connection = await schema.connect(address)
    try:
        if users is None:
            users = [dict(row) for row in await connection.fetch(_CONNECTED)]
        version, found = await connection.fetchval("show server_version"), await schema.version_of(connection)
        return Status(kind, where, running, version, found, schema.head(), users)
    finally:
        await connection.close()


_CONNECTED = """
select application_name as command, coalesce(host(client_addr), 'this host') as host, count(*) as connections
from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
group by 1, 2 order by 1, 2
"""


async def _upgrade(settings: Settings) -> tuple[list[str], str | None]:
    from whilly.cli.database import database_url
    from whilly.store import schema

    async with database_url(settings) as address:
        return await schema.upgrade(address), await schema.current(address)


def _others(data_dir: "Path") -> list[dict[str, Any]]:
    from whilly.store import embedded

    return [asdict(user) for user in embedded.users(data_dir) if user.pid != os.getpid()]


def _told(found: Status) -> list[tuple[str, str]]:
    name = "embedded PostgreSQL" if found.kind == "embedded" else "PostgreSQL"
    if found.server_version is None:
        return [("Database", f"{name}, made when it is first needed"), ("Where", found.where)]
    if found.fits:
        fit = "what this program needs"
    elif found.kind == "embedded":
        fit = f"this program needs {found.wanted_schema}, and the next command gives it that"
    else:
        fit = f"this program needs {found.wanted_schema}: run `whilly db upgrade`"
    state = "running" if found.running else "not running, it starts when it is needed"
    users = [_user(user) for user in found.users] or ["nobody else"]
    return [
        ("Database", f"{name} {found.server_version}, {state}"),
        ("Where", found.where),
        ("Schema", f"{found.schema or 'none'}, {fit}"),
        ("Used by", users[0]),
        *(("", user) for user in users[1:]),
    ]


def _user(user: dict[str, Any]) -> str:
    if "pid" in user:
        return f"{user['pid']} {user['command']}"
    return f"{user['command'] or 'a client without a name'} on {user['host']}, connections: {user['connections']}"


def _wait_for_ctrl_c() -> None:
    try:
        signal.pause()
    except KeyboardInterrupt:
        return
