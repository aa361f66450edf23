"""Which version of the worker protocol a message speaks."""

VERSION = 1
"""Rises, by one in a release at most, when an older peer could not make sense of a message. New optional fields do not
raise it."""

RELEASES_SERVED = 2
"""How many releases older a worker may be: whoever upgrades the server need not stop the workers first."""

HEADER = "Whilly-Protocol"
"""Sent with every request and every answer."""

BASE_PATH = "/api/v1"
"""Where the control plane's routes begin."""


def oldest_served(version: int = VERSION) -> int:
    """The oldest protocol that a server of this version understands."""
    return max(version - RELEASES_SERVED, 1)
