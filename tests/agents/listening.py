"""What tests of agents share: a listener that remembers, and a brief for a folder."""

import asyncio
from pathlib import Path
from typing import Any

from whilly.agents.runner import Brief, Progress
from whilly.core.evidence import Usage


class Ear:
    """Remembers what an agent said, and sets an event at a word."""

    def __init__(self, word: str = "") -> None:
        self.text = ""
        self.usages: list[Usage] = []
        self.heard = asyncio.Event()
        self._word = word

    async def __call__(self, progress: Progress) -> None:
        self.text += progress.text
        if progress.usage is not None:
            self.usages.append(progress.usage)
        if self._word and self._word in self.text:
            self.heard.set()


def brief(workspace: Path, **fields: Any) -> Brief:
    usual: dict[str, Any] = {"prompt": "Do the task.", "workspace": workspace, "task": "T1"}
    return Brief(**usual | fields)
