"""Whatever a command does to a running system can be done through the API, too."""

from collections.abc import Iterator

import pytest
import typer

from whilly.cli.main import app
from whilly.server.app import ROUTES

TASK = "/api/v1/plans/{plan}/tasks/{task}"
PLAN = "/api/v1/plans/{plan}"

ALSO = {
    "plan import": ("POST", "/api/v1/plans/import"),
    "plan apply": ("POST", "/api/v1/plans/apply"),
    "plan create": ("POST", "/api/v1/plans"),
    "plan list": ("GET", "/api/v1/plans"),
    "plan show": ("GET", f"{PLAN}/overview"),
    "plan export": ("GET", f"{PLAN}/export"),
    "plan reset": ("POST", f"{PLAN}/reset"),
    "plan triz": ("GET", f"{PLAN}/triz"),
    "task show": ("GET", TASK),
    "task cancel": ("POST", f"{TASK}/cancel"),
    "task retry": ("POST", f"{TASK}/retry"),
    "task skip": ("POST", f"{TASK}/skip"),
    "task fetch": ("GET", f"{TASK}/bundle"),
    "review approve": ("POST", f"{TASK}/review"),
    "review reject": ("POST", f"{TASK}/review"),
    "review changes": ("POST", f"{TASK}/review"),
    "budget set": ("PUT", f"{PLAN}/budget"),
    "why": ("GET", f"{TASK}/why"),
    "logs": ("GET", f"{TASK}/transcript"),
    "pause": ("POST", "/api/v1/pause"),
    "resume": ("POST", "/api/v1/resume"),
    "events": ("GET", "/api/v1/events"),
    "login": ("POST", "/api/v1/logins"),
    "worker register": ("POST", "/workers/register"),
    "admin bootstrap mint": ("POST", "/api/v1/tokens"),
    "admin bootstrap list": ("GET", "/api/v1/tokens"),
    "admin bootstrap revoke": ("POST", "/api/v1/tokens/{token}/revoke"),
    "admin token mint": ("POST", "/api/v1/tokens"),
    "admin token list": ("GET", "/api/v1/tokens"),
    "admin token revoke": ("POST", "/api/v1/tokens/{token}/revoke"),
    "admin token rotate": ("POST", "/api/v1/tokens/{token}/rotate"),
    "admin worker revoke": ("POST", "/api/v1/workers/{worker}/revoke"),
    "worker list": ("GET", "/api/v1/workers"),
    "worker drain": ("POST", "/api/v1/workers/{worker}/drain"),
    "worker resume": ("POST", "/api/v1/workers/{worker}/resume"),
}
HERE = {
    "run": "works on this machine",
    "demo": "works on this machine",
    "worker connect": "works on this machine",
    "server": "starts the control plane",
    "plan schema": "prints what is the same everywhere",
    "db": "is about the database itself, which is there before the API is",
}


def commands(group: typer.Typer, path: str = "") -> Iterator[str]:
    for command in group.registered_commands:
        assert command.callback is not None
        yield f"{path} {command.name or command.callback.__name__.rstrip('_').replace('_', '-')}".strip()
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from commands(inner.typer_instance, f"{path} {inner.name}".strip())


@pytest.mark.parametrize("command", list(commands(app)))
def test_a_command_has_a_way_through_the_api(command: str) -> None:
    if command in HERE or command.split()[0] in HERE:
        return
    assert command in ALSO, "add the route that does the same, or say why there can be none"
    assert ALSO[command] in {(route.method, route.path) for route in ROUTES}
