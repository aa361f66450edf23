"""The `whilly-worker` command: a worker of a control plane that is reached over HTTP. Installs without the server."""

import asyncio
import gc
import ipaddress
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from whilly import __version__
from whilly.cli.hidden_arguments import begin_again_without
from whilly.core.errors import BadSetting, WhillyError
from whilly.settings import Settings, tags_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from whilly.agents.runner import AgentRunner
    from whilly.cli.way import Way
    from whilly.core.assignment import Assignment
    from whilly.worker.ended import Ended

app = typer.Typer(
    name="whilly-worker",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def work(
    connect: Annotated[
        str, typer.Option(metavar="URL", help="The control plane's address (WHILLY_CONTROL_URL).", show_default=False)
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="A file that holds this worker's token.", show_default=False)
    ] = None,
    token: Annotated[
        str,
        typer.Option(
            metavar="TOKEN",
            help="The token itself; others may see it in the process list.",
            show_default=False,
        ),
    ] = "",
    plan: Annotated[
        str, typer.Option(metavar="PLAN", help="The plan to work on (WHILLY_PLAN_ID).", show_default=False)
    ] = "",
    worker_id: Annotated[
        str, typer.Option(metavar="NAME", help="This worker's own name (WHILLY_WORKER_ID).", show_default=False)
    ] = "",
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="An agent to offer: claude, scripted. May be repeated; the first is for tasks that name none.",
            show_default="claude",
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="What tasks may ask for; may be repeated (WHILLY_WORKER_TAGS)."),
    ] = None,
    repo_target: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=PATH", help="A folder that stands for a repo target of the plan; may be repeated."),
    ] = None,
    slots: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Tasks at the same time.")] = 1,
    once: Annotated[bool, typer.Option("--once", help="End after one attempt.")] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take this worker's identity from another process that has it.")
    ] = False,
    control_key: Annotated[
        str,
        typer.Option(
            metavar="KEY",
            help="The control plane's key, as registering gave it; where its address changes it must "
            "prove that it has it.",
            show_default=False,
        ),
    ] = "",
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow plain HTTP to another machine: the token can be read.")
    ] = False,
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
) -> None:
    """Claim tasks from a control plane, run agents on them, report what was proved."""
    if version:
        typer.echo(f"whilly-worker {__version__}")
        return
    from whilly.cli.repositories import folders_of

    settings = Settings.from_environment()
    address = connect or settings.control_url or ""
    if address or settings.funnel_url_source == "static":
        address = checked_address(address, insecure=insecure)
    plan = plan or settings.plan_id or ""
    if not plan:
        raise BadSetting("Name the plan with --plan or WHILLY_PLAN_ID.")
    bearer = _token(settings, token_file, token)
    offer = Offered(
        worker_id or settings.worker_id,
        tuple(dict.fromkeys(agent or ["claude"])),
        tags_in(",".join(tag), "--tag") if tag else settings.worker_tags,
        slots,
        1 if once else None,
        take_over,
        folders_of(repo_target),
        control_key,
        insecure,
    )
    raise typer.Exit(asyncio.run(_work(settings, address, bearer, plan, offer)))


@dataclass(frozen=True, slots=True)
class Offered:
    """What this worker is asked to be."""

    name: str | None
    agents: tuple[str, ...]
    tags: tuple[str, ...]
    slots: int
    max_tasks: int | None
    take_over: bool
    folders: "Mapping[str, Path]"
    control_key: str
    insecure: bool


def checked_address(text: str, *, insecure: bool) -> str:
    """The address without a trailing slash. Raises BadSetting when it is none, or not safe for a token."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadSetting("Name the control plane with --connect or WHILLY_CONTROL_URL, as https://host:port.")
    if parts.path.strip("/") or parts.query or parts.fragment or parts.username:
        raise BadSetting(f"The control plane's address is scheme, host and port, nothing more: not {text!r}.")
    if parts.scheme == "http" and not insecure and not _is_loopback(parts.hostname):
        raise BadSetting(
            f"Plain HTTP to {parts.hostname} shows the token to everybody between; use https://, "
            "or --insecure to accept that."
        )
    return text.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _token(settings: Settings, file: Path | None, given: str) -> str:
    if file is not None:
        try:
            given = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise BadSetting(f"The token file {file} cannot be read: {problem}.") from None
    if not given and settings.shared_worker_token:
        given = settings.shared_worker_token
        if not settings.quiet_about_shared_token:
            typer.echo(
                "WHILLY_WORKER_TOKEN is deprecated: register each worker (`whilly worker register`), and give it its "
                "own token with --token-file; WHILLY_SUPPRESS_WORKER_TOKEN_WARNING=1 keeps this quiet.",
                err=True,
            )
    if not given:
        raise BadSetting(
            "Give this worker's token with --token-file, or let `whilly worker connect` get one and keep it."
        )
    if not given.isascii() or any(character.isspace() for character in given):
        raise BadSetting("The token is one word of letters, digits and underscores; what was given is not.")
    return given


async def _work(settings: Settings, address: str, token: str, plan: str, offered: Offered) -> int:
    from whilly.cli.identity import worker_identity
    from whilly.cli.repositories import access_of
    from whilly.cli.session import no_terminal_after
    from whilly.cli.worker_lines import LONGEST, how_it_went, worker_line
    from whilly.client.control_plane import ControlPlane
    from whilly.client.errors import Rejected
    from whilly.core.terminal import one_line
    from whilly.worker.equipment import Equipment
    from whilly.worker.loop import Worker
    from whilly.worker.repositories import Repositories
    from whilly.worker.seclusion import hide_memory
    from whilly.worker.stop import Stop, stop_on_signals

    def tell(sentence: str) -> None:
        typer.echo(one_line(sentence, LONGEST), err=True)

    def admitted(identity: str) -> None:
        tell(f"Worker {identity} works on plan {plan} of {way.control_plane}. Ctrl-C lets it end what it has begun.")

    def began(assignment: "Assignment") -> None:
        typer.echo(worker_line(assignment.spec.id, f"attempt {assignment.epoch} begins"))

    def ended(attempt: "Ended") -> None:
        typer.echo(worker_line(attempt.task, how_it_went(attempt)))

    hide_memory()
    stop = Stop()
    with worker_identity(settings.data_dir, offered.name) as (worker, folder):
        async with _way(settings, address, token, offered, tell) as way:
            equipment = Equipment(
                control_plane=ControlPlane(way.http),
                address=way.control_plane,
                worker=worker,
                plan=plan,
                runners=_runners(settings, offered.agents),
                workspaces=folder / "workspaces",
                state=folder,
                environment=os.environ,
                secrets=(token, *settings.git_tokens.values()),
                repositories=Repositories(local=offered.folders, access=access_of(settings), home=_repository_here()),
                tags=offered.tags,
                take_over=offered.take_over,
                tell=tell,
                admitted=admitted,
                began=began,
                ended=ended,
            )
            with stop_on_signals(stop, no_terminal_after):
                try:
                    worked = await Worker(equipment, slots=offered.slots, max_tasks=offered.max_tasks).run(stop)
                except Rejected as refused:
                    place = f" at {address}" if address else ""
                    raise BadSetting(f"The control plane{place} refuses this worker: {refused}") from None
    return 2 if worked.unusable or worked.superseded or (worked.missing and not worked.attempts) else 0


def _repository_here() -> Path | None:
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), None)


def _way(
    settings: Settings, address: str, token: str, offered: Offered, tell: "Callable[[str], None]"
) -> "AbstractAsyncContextManager[Way]":
    from whilly.cli.address_source import address_source
    from whilly.cli.pins import pinned
    from whilly.cli.way import way_to

    key, prove = offered.control_key or pinned(settings.data_dir, token), None
    if key:
        from whilly.client.identity import proof_of

        prove = proof_of(key)
    source = address_source(settings, partial(checked_address, insecure=offered.insecure))
    return way_to(address, token, source=source, key=key, prove=prove, tell=tell)


def _runners(settings: Settings, agents: tuple[str, ...]) -> "Mapping[str, AgentRunner]":
    from whilly.agents.registry import AgentSettings, runner_named

    known = AgentSettings(
        environ=os.environ,
        claude_bin=settings.claude_bin,
        claude_model=settings.claude_model,
        claude_proxy_url=settings.claude_proxy_url,
        claude_no_proxy=settings.claude_no_proxy,
    )
    return {agent: runner_named(agent, known) for agent in agents}


def main() -> None:
    """Run the command; an error that a person can act on is one sentence on stderr."""
    # Almost all that a start makes stays, so looking through it for garbage is a tenth of its time.
    gc.set_threshold(20_000, 20, 50)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
    try:
        begin_again_without("--token", value_in_file="--token-file")
        app()
    except WhillyError as problem:
        from whilly.core.terminal import clean

        print(f"whilly-worker: {clean(str(problem))}", file=sys.stderr)  # noqa: T201
        sys.exit(2)


if __name__ == "__main__":
    main()
