"""Processes that are killed and stopped, and come back. They are forked from a prepared one, so that this is cheap."""

import ctypes
import multiprocessing
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from typing import Any

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.chaos.server", "tests.chaos.protocol_worker", "tests.chaos.git_worker"])

_PR_SET_PDEATHSIG = 1


class Crew:
    """One process in each place; whoever is killed is followed by another one."""

    def __init__(self, work: Callable[..., None], places: Sequence[tuple[Any, ...]]) -> None:
        """`work` is called in a process of its own for each place, with the place's arguments."""
        self._work = work
        self._places = places
        self._wake_at: dict[int, float] = {}
        self._processes = [self._start(place) for place in range(len(places))]

    def kill_one(self, chance: random.Random) -> int | None:
        """SIGKILL to one of those that are awake; its place, or None when the dice fell on one that is stopped."""
        place = chance.randrange(len(self._places))
        if place in self._wake_at:
            return None
        self.kill(place)
        return place

    def kill(self, place: int) -> None:
        """SIGKILL, and another one in its place."""
        self._end(place)
        self._processes[place] = self._start(place)

    def stop_one(self, chance: random.Random, seconds: float) -> bool:
        """SIGSTOP to one; it goes on when its time has come and `wake_those_due` is called."""
        place = chance.randrange(len(self._places))
        if place in self._wake_at:
            return False
        os.kill(self._pid(place), signal.SIGSTOP)
        self._wake_at[place] = time.monotonic() + seconds
        return True

    @property
    def stopped(self) -> list[int]:
        """The places of those that are stopped."""
        return list(self._wake_at)

    def wake_early(self, place: int) -> None:
        """Let one that is stopped go on with the next `wake_those_due`."""
        self._wake_at[place] = 0

    def wake_those_due(self, *, everybody: bool = False) -> None:
        for place, due in list(self._wake_at.items()):
            if everybody or time.monotonic() >= due:
                os.kill(self._pid(place), signal.SIGCONT)
                del self._wake_at[place]

    def close(self) -> None:
        """Kill them all, for good."""
        for place in range(len(self._places)):
            self._end(place)

    def _pid(self, place: int) -> int:
        pid = self._processes[place].pid
        assert pid is not None
        return pid

    def _end(self, place: int) -> None:
        self._processes[place].kill()
        self._processes[place].join()

    def _start(self, place: int) -> BaseProcess:
        process = _forks.Process(target=_with_parent, args=(self._work, *self._places[place]), daemon=True)
        process.start()
        return process


def free_ports(count: int) -> list[int]:
    """Ports that nobody used a moment ago."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def _with_parent(work: Callable[..., None], *arguments: Any) -> None:
    """Do the work, and die with those who wanted it, however they end and even while stopped."""
    # The fork server lives while anybody holds this. With only the test holding it, it ends with the test.
    os.close(vars(forkserver._forkserver)["_forkserver_alive_fd"])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    work(*arguments)
