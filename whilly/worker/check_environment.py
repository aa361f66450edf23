"""The environment in which checks run: written down here, not inherited, so no token of the worker is in it."""

import os
import sys
from collections.abc import Mapping

NEEDED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "JAVA_HOME",
    "GOROOT",
    "GOPATH",
    "GOMODCACHE",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "PYENV_ROOT",
    "NVM_DIR",
)
"""Where tools find themselves, their caches and their certificates."""

NEEDED_ON_WINDOWS = (
    "APPDATA",
    "COMSPEC",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "WINDIR",
)

NOBODY_ANSWERS = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "DEBIAN_FRONTEND": "noninteractive", "TERM": "dumb"}
"""There is no person at this terminal, and there is no terminal."""


def check_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a check may see of the worker's own environment."""
    names = NEEDED + NEEDED_ON_WINDOWS if sys.platform == "win32" else NEEDED
    return {"PATH": os.defpath} | {name: environ[name] for name in names if name in environ} | NOBODY_ANSWERS
