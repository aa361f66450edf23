"""The environment of agents and checks: built from nothing, so that no token of the worker is in it."""

import os
import sys
from collections.abc import Mapping

ALLOWED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "VIRTUAL_ENV",
    "JAVA_HOME",
    "GOROOT",
    "GOPATH",
    "GOMODCACHE",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "PYENV_ROOT",
    "NVM_DIR",
)
"""Who and where the user is, and where tools find themselves, their caches and their certificates."""

ALLOWED_ON_WINDOWS = (
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

NOBODY_ANSWERS = {
    "TERM": "dumb",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
"""Nobody sits at a terminal: what would ask a question fails instead."""


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a program that Whilly starts may see of the worker's own environment. Empty values count as none."""
    names = ALLOWED + ALLOWED_ON_WINDOWS if sys.platform == "win32" else ALLOWED
    allowed = {name: environ[name] for name in names if environ.get(name)}
    return {"PATH": os.defpath} | allowed | NOBODY_ANSWERS


def first_given(environ: Mapping[str, str], *names: str) -> dict[str, str]:
    """The first of these variables that has a value: a provider's one key, and no second one beside it."""
    for name in names:
        if environ.get(name):
            return {name: environ[name]}
    return {}


def through_proxy(url: str | None, no_proxy: str) -> dict[str, str]:
    """The variables that send a program's traffic through an HTTP proxy, in both spellings; none without a proxy."""
    if not url:
        return {}
    variables = {"HTTPS_PROXY": url, "HTTP_PROXY": url, "NO_PROXY": no_proxy}
    return variables | {name.lower(): value for name, value in variables.items()}
