"""`whilly login`: a one-time link into the page of a running control plane."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whilly.core.errors import BadSetting
from whilly.settings import Settings

if TYPE_CHECKING:
    from whilly.wire.logins import LoginLink


def login(
    connect: Annotated[
        str,
        typer.Option(
            metavar="URL", help="The server, when it is not on this machine (WHILLY_CONTROL_URL).", show_default=False
        ),
    ] = "",
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A file with an operator's token: ask the server, not its database."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow plain HTTP to another machine: token and link can be read.")
    ] = False,
    browse: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Print a link that lets one browser in, once."""
    settings = Settings.from_environment()
    address = connect or settings.control_url or ""
    if address:
        from whilly.cli.worker_main import checked_address

        address = checked_address(address, insecure=insecure)
    link = _by_token(address, token_file) if token_file is not None else _by_database(settings, address)
    typer.echo(link)
    if browse:
        import webbrowser

        if not webbrowser.open(link):
            raise BadSetting("No browser could be started; open the link yourself.")


def _by_database(settings: Settings, address: str) -> str:
    from whilly.cli.running_servers import addresses
    from whilly.cli.session import who, with_database
    from whilly.operations.log_in import issue_login

    address = address or next(iter(addresses(settings)), "")
    if not address:
        raise BadSetting(
            "No server on this database runs on this machine; start `whilly server`, "
            "or name one elsewhere with --connect."
        )
    return f"{address}/login/{with_database(lambda database: issue_login(database, who()))}"


def _by_token(address: str, token_file: Path) -> str:
    import asyncio

    if not address:
        raise BadSetting("Name the server with --connect or WHILLY_CONTROL_URL.")
    made = asyncio.run(_ask(address, _token(token_file)))
    return f"{address}/login/{made.code}"


def _token(file: Path) -> str:
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise BadSetting(f"The token file {file} cannot be read: {problem}.") from None
    if not token.isascii() or len(token.split()) != 1:
        raise BadSetting(f"The token file {file} holds no token, which is one word of letters, digits and underscores.")
    return token


async def _ask(address: str, token: str) -> "LoginLink":
    import httpx2

    from whilly.client.answers import NoUsableAnswer, accepted
    from whilly.client.connect import over_network
    from whilly.client.errors import Rejected
    from whilly.wire.codec import decode
    from whilly.wire.logins import LoginLink

    async with over_network(address, token) as http:
        try:
            answer = await http.post("/api/v1/logins", timeout=30)
            accepted(answer)
        except Rejected as refusal:
            raise BadSetting(f"The server at {address} makes no link: {refusal}") from None
        except (httpx2.HTTPError, NoUsableAnswer) as problem:
            raise BadSetting(f"The server at {address} does not answer: {problem}.") from None
    return decode(LoginLink, answer.content)
