"""`whilly worker register` and `connect`: this machine joins a control plane."""

import platform
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from whilly.core.errors import BadSetting
from whilly.settings import Settings

if TYPE_CHECKING:
    from whilly.cli.credentials import Credential
    from whilly.wire.tokens import EnrolmentAnswer

Bootstrap = Annotated[
    str,
    typer.Option(
        metavar="TOKEN",
        help="Lets this machine join (WHILLY_WORKER_BOOTSTRAP_TOKEN).",
        show_default=False,
    ),
]
Hostname = Annotated[
    str, typer.Option(metavar="NAME", help="What to call this machine; its own name.", show_default=False)
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Allow plain HTTP to another machine: tokens can be read.")]


def register(
    connect: Annotated[
        str, typer.Option(metavar="URL", help="The control plane's address (WHILLY_CONTROL_URL).", show_default=False)
    ] = "",
    bootstrap_token: Bootstrap = "",
    plan: Annotated[
        str, typer.Option(metavar="PLAN", help="Let the worker work on this plan only.", show_default=False)
    ] = "",
    hostname: Hostname = "",
    insecure: Insecure = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Make a worker for this machine; stdout is its token alone."""
    from whilly.cli.pins import pin
    from whilly.cli.worker_main import checked_address

    settings = Settings.from_environment()
    address = checked_address(connect or settings.control_url or "", insecure=insecure)
    joined = _join(settings, address, bootstrap_token, plan, hostname)
    pin(settings.data_dir, joined.token, joined.public_key)
    if as_json:
        from whilly.cli.as_json import say_json

        say_json(joined)
        return
    typer.echo(joined.token)
    until = f", good until {joined.expires_at:%Y-%m-%d}" if joined.expires_at else ""
    typer.echo(f"worker_id: {joined.worker_id} (for {_scope(joined.plan)}{until})", err=True)


def connect(
    url: Annotated[str, typer.Argument(metavar="URL", help="The control plane's address.", show_default=False)],
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="OPTIONS", help="As `whilly-worker --help` shows them."),
    ] = None,
    bootstrap_token: Bootstrap = "",
    plan: Annotated[
        str, typer.Option(metavar="PLAN", help="The plan to work on (WHILLY_PLAN_ID).", show_default=False)
    ] = "",
    hostname: Hostname = "",
    again: Annotated[bool, typer.Option("--again", help="Register anew, though a token is kept.")] = False,
    no_keyring: Annotated[
        bool, typer.Option("--no-keyring", "--no-keychain", help="Keep the token in a file.")
    ] = False,
    insecure: Insecure = False,
) -> None:
    """Join, keep the token, and work; the next time with the kept one."""
    from whilly.cli.credentials import store_of
    from whilly.cli.worker_main import checked_address

    settings = Settings.from_environment()
    address = checked_address(url, insecure=insecure)
    plan = plan or settings.plan_id or ""
    if not plan:
        raise BadSetting("Name the plan with --plan or WHILLY_PLAN_ID.")
    store = store_of(settings.data_dir, keyring=not no_keyring)
    kept = None if again else store.find(address, plan)
    if kept is None:
        kept = _credential(_join(settings, address, bootstrap_token, plan, hostname))
        store.keep(address, plan, kept)
        _say(f"Registered as worker {kept.worker} for {_scope(kept.plan or None)}; its token is kept in {store.place}.")
        from whilly.cli.hidden_arguments import begin_again_without

        begin_again_without("--bootstrap-token", flags=("--again",))
    elif kept.half_over(datetime.now(UTC)):
        kept = _renewed(address, kept)
        store.keep(address, plan, kept)
        _say(f"Worker {kept.worker} got a new token, kept in {store.place}.")
    else:
        _say(f"Worker {kept.worker} goes on with the token in {store.place}.")
    secure = ["--insecure"] if insecure else []
    raise typer.Exit(
        _work("--connect", address, "--token", kept.bearer, "--plan", plan, "--control-key", kept.public_key,
              *secure, *(options or ()))
    )  # fmt: skip


def _work(*arguments: str) -> int:
    """Be `whilly-worker`, in this process: no other one gets to see the token."""
    from typer.main import get_command

    from whilly.cli.worker_main import app

    return int(get_command(app).main(list(arguments), "whilly worker connect", standalone_mode=False) or 0)


def _join(settings: Settings, address: str, bootstrap: str, plan: str, hostname: str) -> "EnrolmentAnswer":
    import asyncio

    from whilly.client.enrolment import enrol
    from whilly.wire.tokens import Enrolment

    bootstrap = bootstrap or settings.bootstrap_token or ""
    if not bootstrap:
        raise BadSetting(
            "To join, a bootstrap token is needed: --bootstrap-token or WHILLY_WORKER_BOOTSTRAP_TOKEN; "
            "operators make one with `whilly admin bootstrap mint`."
        )
    if not bootstrap.isascii() or len(bootstrap.split()) != 1:
        raise BadSetting("The bootstrap token is one word of letters, digits and underscores; what was given is not.")
    asked = Enrolment(hostname or platform.node() or "worker", plan=plan or None)
    return asyncio.run(enrol(address, bootstrap.strip(), asked))


def _credential(joined: "EnrolmentAnswer") -> "Credential":
    from whilly.cli.credentials import Credential

    return Credential(
        worker=joined.worker_id,
        bearer=joined.token,
        public_key=joined.public_key,
        plan=joined.plan or "",
        since=datetime.now(UTC).isoformat(),
        until=joined.expires_at.isoformat() if joined.expires_at else "",
    )


def _renewed(address: str, kept: "Credential") -> "Credential":
    import asyncio
    from dataclasses import replace

    from whilly.client.enrolment import rotate_own

    made = asyncio.run(rotate_own(address, kept.bearer))
    until = made.expires_at.isoformat() if made.expires_at else ""
    return replace(kept, bearer=made.bearer, since=datetime.now(UTC).isoformat(), until=until)


def _scope(plan: str | None) -> str:
    return "every plan" if plan is None else f"plan {plan}"


def _say(sentence: str) -> None:
    typer.echo(sentence, err=True)
