"""`whilly server`: a control plane for workers on other machines and people with browsers."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whilly.core.errors import BadSetting
from whilly.settings import Settings, is_host_name

if TYPE_CHECKING:
    import socket

    from whilly.server.serve import Tls
    from whilly.worker.stop import Stop

EVERYWHERE = frozenset({"0.0.0.0", "::", "*"})  # noqa: S104 - to recognize it


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for on the command line."""

    host: str
    port: int
    names: tuple[str, ...]
    public_url: str
    proxies: tuple[str, ...]
    tls: "Tls | None"


def server(
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0: everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0: a free one.")] = 8000,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A name it is reached by; may be repeated.")
    ] = None,
    public_url: Annotated[
        str, typer.Option(metavar="URL", help="Its address for others, when a proxy is in front.", show_default=False)
    ] = "",
    trust_proxy: Annotated[
        list[str] | None, typer.Option(metavar="ADDRESS", help="A proxy whose X-Forwarded-* is true; may be repeated.")
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Serve HTTPS with this certificate (PEM).", show_default=False)
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The certificate's key (PEM).", show_default=False)
    ] = None,
) -> None:
    """Run a control plane for workers and browsers, until Ctrl-C."""
    settings = Settings.from_environment()
    names = tuple(allow_host or ())
    for name in names:
        if not is_host_name(name):
            raise BadSetting(f"--allow-host takes the name of a host, such as whilly.example.org, not {name!r}.")
    if tls_key is not None and tls_cert is None:
        raise BadSetting("--tls-key needs the certificate as well: add --tls-cert.")
    raise typer.Exit(
        _run(settings, Wanted(host, port, names, public_url, tuple(trust_proxy or ()), _tls(tls_cert, tls_key)))
    )


def _tls(certificate: Path | None, key: Path | None) -> "Tls | None":
    if certificate is None:
        return None
    from whilly.server.serve import Tls, tls_context

    tls = Tls(certificate, key)
    tls_context(tls)
    return tls


def _run(settings: Settings, wanted: Wanted) -> int:
    import asyncio

    from whilly.server.limits import networks
    from whilly.server.serve import bind

    networks(wanted.proxies)
    if wanted.public_url:
        _public_host(wanted.public_url)
    _log_to_stderr()
    listening = bind("::" if wanted.host == "*" else wanted.host, wanted.port)
    factory = None
    if os.name == "posix":
        import uvloop

        factory = uvloop.new_event_loop
    with listening, asyncio.Runner(loop_factory=factory) as runner:
        runner.run(_serve(settings, wanted, listening))
    return 0


async def _serve(settings: Settings, wanted: Wanted, listening: "socket.socket") -> None:
    import asyncio

    from whilly.cli.database import open_database
    from whilly.cli.mirror import mirror_of
    from whilly.cli.running_servers import noted
    from whilly.cli.session import no_terminal_after, who
    from whilly.operations.log_in import issue_login
    from whilly.server.app import create_app
    from whilly.server.environment import CONNECTIONS, PATIENCE, VITAL, given_bearers
    from whilly.server.limits import LIMITS, that_fit
    from whilly.server.serve import serving
    from whilly.worker.stop import Stop, stop_on_signals

    bearers = given_bearers(settings)
    stop = Stop()
    with stop_on_signals(stop, no_terminal_after):
        async with open_database(settings, size=CONNECTIONS, vital=VITAL, patience=PATIENCE) as database:
            app = create_app(
                database,
                hosts=_names(settings, wanted),
                bearers=bearers,
                mirror=mirror_of(settings, database, _say),
            )
            app.state.largest_bundle = settings.bundle_limit_mb * 2**20
            at_once = asyncio.create_task(_end_at_once(stop))
            async with (
                app.router.lifespan_context(app),
                serving(
                    app,
                    host=wanted.host,
                    listening=listening,
                    tls=wanted.tls,
                    proxies=wanted.proxies,
                    limits=that_fit(LIMITS),
                ) as address,
            ):
                address = _address_for_people(settings, wanted, address)
                link = f"{address}/login/{await issue_login(database, who())}"
                with noted(settings, address):
                    _introduce(settings, wanted, address, link)
                    await stop.wait()
                _say("Stopping: what is being answered is answered to its end; Ctrl-C again ends at once.")
            at_once.cancel()


async def _end_at_once(stop: "Stop") -> None:
    await stop.urgent()
    # Nothing is lost by that: whatever was answered is stored, and the embedded database has a guard.
    os._exit(130)


def _names(settings: Settings, wanted: Wanted) -> tuple[str, ...]:
    """All names under which this server may be asked."""
    own = () if wanted.host in EVERYWHERE else (wanted.host,)
    public = (_public_host(wanted.public_url),) if wanted.public_url else ()
    return (*settings.allowed_hosts, *wanted.names, *own, *public)


def _public_host(url: str) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.path.strip("/") or parts.query or parts.username:
        raise BadSetting(f"--public-url is scheme, host and perhaps port, as https://whilly.example.org: not {url!r}.")
    return host


def _address_for_people(settings: Settings, wanted: Wanted, address: str) -> str:
    if wanted.public_url:
        return wanted.public_url.rstrip("/")
    if wanted.host not in EVERYWHERE:
        return address
    name = next(iter((*wanted.names, *settings.allowed_hosts)), "localhost")
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{name}:{rest.rpartition(':')[2]}"


def _introduce(settings: Settings, wanted: Wanted, address: str, link: str) -> None:
    where = "the database of WHILLY_DATABASE_URL" if settings.database_url else f"{settings.data_dir / 'postgres'}"
    typer.echo(f"Whilly serves {where} at {address}")
    typer.echo(f"\n    {link}\n")
    typer.echo("Open it in a browser; the link works once, and `whilly login` makes another. Ctrl-C ends the server.")
    if wanted.tls is None and not wanted.proxies and not _is_loopback(wanted.host):
        _say(
            f"Warning: {wanted.host} is not only this machine, and without TLS everybody between can read tokens; "
            "use --tls-cert and --tls-key, or a proxy with TLS and --trust-proxy."
        )
    sys.stdout.flush()


def _is_loopback(host: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _say(sentence: str) -> None:
    typer.echo(sentence, err=True)


def _log_to_stderr() -> None:
    """Warnings and errors of the program's own work, with the time."""
    import logging

    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.getLogger().addHandler(handler)
