"""`whilly admin`: who may speak to the control plane."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whilly.cli.lifetimes import lifetime
from whilly.cli.token_desk import at_desk
from whilly.core.tokens import TokenKind

if TYPE_CHECKING:
    from whilly.wire.tokens import NewToken, Revocation, TokenRequest

app = typer.Typer(no_args_is_help=True, help="Administration: who may speak to the control plane.")
bootstrap = typer.Typer(no_args_is_help=True, help="Bootstrap tokens, with which machines join.")
worker = typer.Typer(no_args_is_help=True, help="Workers: turn them out.")
token = typer.Typer(no_args_is_help=True, help="Tokens of all kinds.")
GROUPS = {"bootstrap": bootstrap, "worker": worker, "token": token}
for _name, _group in GROUPS.items():
    app.add_typer(_group, name=_name)

Connect = Annotated[
    str, typer.Option(metavar="URL", help="Ask this server (WHILLY_CONTROL_URL), not its database.", show_default=False)
]
TokenFile = Annotated[
    Path | None, typer.Option(metavar="PATH", help="A file with an operator's token, to ask a server.")
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Allow plain HTTP to another machine: tokens can be read.")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
TokenId = Annotated[str, typer.Argument(metavar="ID", help="The token's public id, such as t-0123456789ab.")]
Owner = Annotated[str, typer.Option(metavar="WHO", help="Whose it is, such as ann@example.org.")]
Plan = Annotated[str | None, typer.Option(metavar="PLAN", help="For this plan only.", show_default=False)]
ExpiresIn = Annotated[
    str | None, typer.Option(metavar="TIME", help="How long it lasts, such as 12h or 30d.", show_default=False)
]
All = Annotated[bool, typer.Option("--all", "--include-revoked", help="Also those that open nothing any more.")]


@bootstrap.command("mint")
def mint_bootstrap(
    owner: Owner,
    expires_in: Annotated[str, typer.Option(metavar="TIME", help="How long it lasts, 30d at most.")] = "24h",
    uses: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="How many machines it lets in.")] = 1,
    plan: Plan = None,
    as_json: AsJson = False,
    connect: Connect = "",
    token_file: TokenFile = None,
    insecure: Insecure = False,
) -> None:
    """Make a token that lets machines join; stdout is the token alone."""
    from whilly.wire.tokens import TokenRequest

    seconds = lifetime(expires_in).total_seconds()
    request = TokenRequest(TokenKind.BOOTSTRAP, owner, plan, seconds, uses)
    _mint(request, as_json, connect, token_file, insecure)


@bootstrap.command("list")
def list_bootstrap(
    ended: All = False,
    as_json: AsJson = False,
    connect: Connect = "",
    token_file: TokenFile = None,
    insecure: Insecure = False,
) -> None:
    """Bootstrap tokens, newest first."""
    _list(TokenKind.BOOTSTRAP, ended, as_json, connect, token_file, insecure)


@bootstrap.command("revoke")
def revoke_bootstrap(
    token_id: TokenId,
    as_json: AsJson = False,
    connect: Connect = "",
    token_file: TokenFile = None,
    insecure: Insecure = False,
) -> None:
    """Revoke a bootstrap token, and the workers that joined with it."""
    _revoke(token_id, as_json, connect, token_file, insecure)


@worker.command("revoke")
def revoke_worker(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The worker's name; `whilly worker list` shows them.")],
    as_json: AsJson = False,
    connect: Connect = "",
    token_file: TokenFile = None,
    insecure: Insecure = False,
) -> None:
    """Turn a worker out; what it works on goes to others."""
    ended = at_desk(lambda desk: desk.revoke_worker(name), connect, token_file, insecure=insecure)
    if as_json:
        from whilly.cli.as_json import say_json

        released = [{"plan_id": each.plan, "task_id": each.task, "epoch": each.epoch} for each in ended.released]
        say_json({"revoked": True, "worker_id": name, "tokens": ended.tokens, "released_tasks": released})
        return
    _tell_revoked(ended, f"Worker {name}")


@token.command("mint")
def mint_token(
    kind: Annotated[TokenKind, typer.Argument(metavar="KIND", help="operator, metrics or worker.")],
    owner: Owner,
    expires_in: ExpiresIn = None,
    plan: Plan = None,
    worker_name: Annotated[
        str | None, typer.Option("--worker", metavar="NAME", help="Of a worker's token: whose.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    connect: Connect = "",
    token_file: TokenFile = None,
    insecure: Insecure = False,
) -> None:
    """Make a token for a person or a program; stdout is the token alone."""
    from whilly.wire.tokens import TokenRequest

    seconds = None if expires_in is None else lifetime(expires_in).total_seconds()
    _mint(TokenRequest(kind, owner, plan, seconds, None, worker_name), as_json, connect, token_file, insecure)


@token.command("list")
def list_tokens(
    kind: Annotated[
        TokenKind | None, typer.Option(metavar="KIND", help="Only of this kind.", show_default=False)
    ] = None,
    ended: All = False,
    as_json: AsJson = False,
    connect: Connect = "",
    token_file: TokenFile = None,
    insecure: Insecure = False,
) -> None:
    """Tokens, newest first; browsers' sessions only when asked for."""
    _list(kind, ended, as_json, connect, token_file, insecure)


@token.command("revoke")
def revoke_token(
    token_id: TokenId,
    as_json: AsJson = False,
    connect: Connect = "",
    token_file: TokenFile = None,
    insecure: Insecure = False,
) -> None:
    """Revoke a token and all that were issued with it."""
    _revoke(token_id, as_json, connect, token_file, insecure)


@token.command("rotate")
def rotate_token(
    token_id: TokenId,
    as_json: AsJson = False,
    connect: Connect = "",
    token_file: TokenFile = None,
    insecure: Insecure = False,
) -> None:
    """Replace a token; the old one ends after ten minutes."""
    made = at_desk(lambda desk: desk.rotate(token_id), connect, token_file, insecure=insecure)
    _tell_new(made, as_json, f"It replaces {token_id}, which ends in ten minutes.")


def _mint(request: "TokenRequest", as_json: bool, connect: str, token_file: Path | None, insecure: bool) -> None:
    made = at_desk(lambda desk: desk.mint(request), connect, token_file, insecure=insecure)
    _tell_new(made, as_json, "It is shown this once.")


def _tell_new(made: "NewToken", as_json: bool, words: str) -> None:
    if as_json:
        from whilly.cli.as_json import say_json

        say_json({"id": made.id, "token": made.bearer, "expires_at": made.expires_at})
        return
    until = f", good until {made.expires_at:%Y-%m-%d %H:%M} UTC" if made.expires_at else ""
    typer.echo(made.bearer)
    typer.echo(f"Token {made.id}{until}. {words}", err=True)


def _list(
    kind: TokenKind | None, ended: bool, as_json: bool, connect: str, token_file: Path | None, insecure: bool
) -> None:
    found = at_desk(lambda desk: desk.tokens(kind, ended=ended), connect, token_file, insecure=insecure)
    if as_json:
        from whilly.cli.as_json import say_json

        say_json(found)
    elif found:
        from whilly.cli.token_table import token_table

        typer.echo(token_table(found))
    else:
        typer.echo("There are none.", err=True)


def _revoke(token_id: str, as_json: bool, connect: str, token_file: Path | None, insecure: bool) -> None:
    ended = at_desk(lambda desk: desk.revoke(token_id), connect, token_file, insecure=insecure)
    if as_json:
        from whilly.cli.as_json import say_json

        say_json(ended)
        return
    _tell_revoked(ended, f"Token {token_id}")


def _tell_revoked(ended: "Revocation", what: str) -> None:
    if not ended.tokens:
        typer.echo(f"{what} had no token that was still good.")
        return
    more = f", with {len(ended.tokens)} tokens" if len(ended.tokens) > 1 else ""
    typer.echo(f"{what} is revoked{more}.")
    if ended.workers:
        typer.echo(f"Turned out: {', '.join(ended.workers)}.")
    for each in ended.released:
        typer.echo(f"Given back: task {each.task} of plan {each.plan} (attempt {each.epoch}).")
