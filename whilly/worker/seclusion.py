"""Keeps what the worker's process knows from the agents that run under the same account."""

import sys

_PR_SET_DUMPABLE = 4


def hide_memory() -> None:
    """From now on other processes of this account cannot read this one's environment and memory. Linux only.

    An agent's own environment is built from nothing, but `/proc/PID/environ` of its worker would tell it the rest. No
    core files are written any more, and a debugger needs root, who sees everything as before.
    """
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
