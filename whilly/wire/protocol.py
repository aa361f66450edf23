"""Which version of the worker protocol a message speaks."""

VERSION = 1
"""Rises when an older peer could not make sense of a message. New optional fields do not raise it."""

HEADER = "Whilly-Protocol"
"""Sent with every request and every answer."""

BASE_PATH = "/api/v1"
"""Where the control plane's routes begin."""
