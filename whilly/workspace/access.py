"""What this machine may use to get at repositories elsewhere, and how git is told without anybody else seeing it."""

import json
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from whilly.core.git_address import PROTOCOLS, GitAddress
from whilly.workspace.gitcmd import Git

DEFAULT_USER = "x-access-token"
"""What GitHub and most others take as the user's name beside a token."""

ANY_OWNER = Path(__file__).with_name("any_owner.gitconfig")

_HELPER = Path(__file__).with_name("git_credential.py")

_FOR_THE_NETWORK = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
)
_FOR_SSH = ("HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK")

_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"

_STALLED = {"http.lowSpeedLimit": "1", "http.lowSpeedTime": "60"}
"""A connection over which nothing came for a minute is given up."""


@dataclass(frozen=True, slots=True)
class GitAccess:
    """Credentials and permissions. Its `repr` shows no secret."""

    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By host, or host and port: a token is sent to no other."""
    user: str = DEFAULT_USER
    own_credentials: bool = False
    """Whether the credential helpers that the operator's own git is configured with may be asked."""
    protocols: frozenset[str] = frozenset(PROTOCOLS)
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(os.environ), repr=False)
    """The worker's own: proxies, certificates and the way to the operator's keys are taken from it."""

    def token_for(self, address: GitAddress) -> str:
        """The token for a host; empty: there is none."""
        if address.protocol not in ("https", "http"):
            return ""
        return self.tokens.get(address.site, "") or self.tokens.get(address.host, "")

    @asynccontextmanager
    async def opened(self, git: Git, address: GitAddress) -> AsyncIterator[Git]:
        """The git command that may use the network, and this one protocol. One command per opening."""
        environment = {**self._passed_on(address), "GIT_ALLOW_PROTOCOL": address.protocol}
        settings: dict[str, str | None] = {**git.settings, **_STALLED}
        token = self.token_for(address)
        if token:
            with _behind_a_descriptor(self._credential(address, token)) as (helper, inherit, more):
                settings["credential.helper"] = helper
                yield replace(
                    git,
                    environment={**git.environment, **environment, **more},
                    inherit=(*git.inherit, *inherit),
                    settings=settings,
                )
        elif self.own_credentials and address.protocol in ("https", "http"):
            with tempfile.TemporaryDirectory(prefix="whilly-git-") as folder:
                config = await self._own_configuration(Path(folder))
                own = {name: value for name, value in self.environment.items() if not name.startswith("GIT_")}
                settings["credential.helper"] = None
                own |= {**environment, "GIT_CONFIG_GLOBAL": os.fspath(config)}
                yield replace(git, environment={**own, **git.environment}, settings=settings)
        else:
            yield replace(git, environment={**git.environment, **environment}, settings=settings)

    def _credential(self, address: GitAddress, token: str) -> str:
        values = {"protocol": address.protocol, "host": address.site, "username": self.user, "password": token}
        return json.dumps(values)

    def _passed_on(self, address: GitAddress) -> dict[str, str]:
        names = [name for each in _FOR_THE_NETWORK for name in (each, each.lower())]
        found = {name: self.environment[name] for name in names if self.environment.get(name)}
        if address.protocol == "file":
            # The git that serves a folder of somebody else's sees only this.
            found["GIT_CONFIG_GLOBAL"] = os.fspath(ANY_OWNER)
        if address.protocol == "ssh":
            found |= {name: self.environment[name] for name in _FOR_SSH if self.environment.get(name)}
            found["GIT_SSH_COMMAND"] = _SSH
            found["GIT_SSH_VARIANT"] = "ssh"
        return found

    async def _own_configuration(self, folder: Path) -> Path:
        """A file with nothing of the operator's configuration but how credentials are found."""
        reading = Git(cwd=folder, environment={"GIT_CONFIG_NOSYSTEM": "0"})
        found: list[tuple[str, str]] = []
        for source in (("--system",), *(("--file", os.fspath(file)) for file in self._own_files())):
            arguments = ("config", *source, "--includes", "--null", "--get-regexp", r"^credential\.")
            listed = await reading.run(*arguments, accept=range(256))
            if listed.code == 0:
                found += [(name, value) for name, _, value in (entry.partition("\n") for entry in listed.fields)]
        own = folder / "credentials.gitconfig"
        own.touch(mode=0o600)
        own.write_text(
            "".join(_entry(name, value) for name, value in found), encoding="utf-8", errors="surrogateescape"
        )
        return own

    def _own_files(self) -> list[Path]:
        if given := self.environment.get("GIT_CONFIG_GLOBAL"):
            return [Path(given)]
        home = Path(self.environment.get("HOME") or self.environment.get("USERPROFILE") or os.devnull)
        return [Path(self.environment.get("XDG_CONFIG_HOME") or home / ".config") / "git/config", home / ".gitconfig"]


def _entry(name: str, value: str) -> str:
    """One setting as a configuration file has it: `credential.https://host.helper` is of the section for that host."""
    section, _, rest = name.partition(".")
    subsection, _, key = rest.rpartition(".")
    return f"[{section} {_quoted(subsection)}]\n\t{key} = {_quoted(value)}\n".replace(' ""]', "]")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


@contextmanager
def _behind_a_descriptor(secret: str) -> Iterator[tuple[str, tuple[int, ...], dict[str, str]]]:
    """The helper's command line, what it inherits, and what else its environment needs to find the secret."""
    if os.name == "nt":
        yield _helper("environment"), (), {"GIT_CREDENTIAL_OF_WHILLY": secret}
        return
    reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(secret.encode())
        yield _helper(str(reading)), (reading,), {}
    finally:
        os.close(reading)


def _helper(where: str) -> str:
    return "!" + " ".join(shlex.quote(part) for part in (sys.executable, "-I", "-S", os.fspath(_HELPER), where))
