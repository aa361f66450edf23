"""`whilly demo`: a small plan from nothing to verified commits, with a page to watch and one decision to make."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from whilly.core.errors import BadSetting


def demo(
    exit_at_end: Annotated[
        bool, typer.Option("--exit", help="Approve by itself, wait for the end, print the summary, exit with 0.")
    ] = False,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Of the page; 0: a free one.")] = 0,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Work in this new folder and keep it: repository, database, transcripts."),
    ] = None,
) -> None:
    """Play a small plan with a scripted agent on a scratch repository. Needs no key, no network and no Docker."""
    import asyncio
    import shutil

    if shutil.which("git") is None:
        raise BadSetting("The demo needs git, which is not on the PATH; install it and try again.")

    from whilly.cli.demo_play import play

    with _folder(keep) as folder:
        raise typer.Exit(asyncio.run(play(folder, port=port, exit_at_end=exit_at_end, kept=keep is not None)))


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Where everything happens: nothing of the user's own is touched. Gone at the end, unless it is to be kept."""
    if keep is None:
        # The last moments of a stopping server may race with the removal.
        with tempfile.TemporaryDirectory(prefix="whilly-demo-", ignore_cleanup_errors=True) as scratch:
            yield Path(scratch).resolve()
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
        taken = next(keep.iterdir(), None)
    except OSError as problem:
        raise BadSetting(f"{keep} cannot be made or read ({problem.strerror}); name another folder.") from problem
    if taken is not None:
        raise BadSetting(f"{keep} is not empty, and the demo overwrites nothing; name a new folder.")
    yield keep.resolve()
