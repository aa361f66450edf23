"""Addresses of git repositories: which are understood, and which two are the same repository. Pure.

An address goes to git as an argument, and from there to a shell on another machine or to a transport program. So there
is a short list of shapes, and whatever is not one of them is refused: options, `ext::` commands, names with a password.
"""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from whilly.core.errors import WhillyError
from whilly.core.plan import RepoTarget

PROTOCOLS = ("https", "ssh", "file")
"""What is allowed unless settings say otherwise; plain `http` to this machine always is."""

NETWORK_PROTOCOLS = ("https", "http", "ssh")

PROVIDERS = {"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org"}
"""Where the repositories are of a target that has no `clone_url`."""

READS_ONLY = frozenset({"read_only", "read-only", "readonly", "read", "bundle", "none"})
"""Values of `credential_policy` by which results are not pushed but go through the control plane."""

_LONGEST = 2000
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_PATH = re.compile(r"[^\x00-\x20\x7f\\?#]+")
_SCP = re.compile(r"(?:([^@/:]+)@)?([^@/:]+):(?!/)(.+)")
_FULL_NAME = re.compile(r"[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)+")
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]")
_ENDS_A_LINE = re.compile(r"%(?:0a|0d|00)", re.IGNORECASE)
_CASELESS = frozenset(PROVIDERS.values())


class BadAddress(WhillyError):
    """Not an address of a repository that Whilly works on; the text is one sentence that says what would be."""


@dataclass(frozen=True, slots=True)
class GitAddress:
    """Where a repository is."""

    url: str
    """As git gets it; never with a password."""
    protocol: str
    """https, http, ssh or file."""
    host: str = ""
    """In lower case; empty for a folder of this machine."""
    port: int | None = None
    path: str = ""
    """What follows the host; for `file` the folder."""

    @property
    def site(self) -> str:
        """Host and port, as git asks for credentials by."""
        return self.host if self.port is None else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether what is sent there stays on this machine."""
        return self.host in ("localhost", "[::1]") or bool(re.fullmatch(r"127(?:\.\d{1,3}){3}", self.host))

    def is_same_repository(self, other: "GitAddress") -> bool:
        """Whether both lead to one repository, also by different protocols."""
        return self._identity() == other._identity()

    def _identity(self) -> tuple[str, str]:
        path = self.path.strip("/") if self.host else self.path.rstrip("/")
        path = path.removesuffix(".git")
        return self.host, path.casefold() if self.host in _CASELESS else path


def address_of(target: RepoTarget) -> GitAddress:
    """Where the target's repository is: its `clone_url`, or what its provider and name suggest. Raises BadAddress."""
    if target.clone_url:
        return parse_address(target.clone_url)
    host = PROVIDERS.get(target.provider.strip().lower())
    if host is None:
        known = ", ".join(PROVIDERS)
        raise BadAddress(
            f"Repo target {target.id!r} has no clone_url, and its provider {target.provider!r} is none of {known}; "
            "add its clone_url."
        )
    if not _FULL_NAME.fullmatch(target.repo_full_name) or ".." in target.repo_full_name:
        raise BadAddress(f"Repo target {target.id!r} is {target.repo_full_name!r}; write it as owner/name.")
    name = target.repo_full_name.removesuffix(".git")
    return parse_address(f"https://{host}/{name}.git")


def parse_address(text: str) -> GitAddress:
    """Read https, http, ssh and file URLs, `user@host:path`, and whole paths of folders. Raises BadAddress."""
    if not text or len(text) > _LONGEST or not text.isprintable() or text.startswith("-"):
        raise _bad(text)
    if text.startswith("/") or _WINDOWS.match(text):
        return GitAddress(text, "file", path=text)
    if "::" in text.partition("/")[0]:
        raise _bad(text)
    if "://" not in text:
        return _scp(text)
    scheme = text.partition("://")[0].lower()
    if scheme == "file":
        return _file(text)
    if scheme not in NETWORK_PROTOCOLS:
        raise BadAddress(f"{_shown(text)} uses the protocol {scheme!r}; use https, ssh or the path of a folder.")
    return _network(text, scheme)


def check_protocol(address: GitAddress, allowed: frozenset[str]) -> None:
    """Raise BadAddress when the address' protocol is not one of those allowed."""
    if address.protocol in allowed or (address.protocol == "http" and address.is_loopback):
        return
    if address.protocol == "http":
        raise BadAddress(f"{address.url} is plain HTTP, which shows everything to everybody between; use https.")
    raise BadAddress(
        f"{address.url} uses the protocol {address.protocol}, which is not allowed here; "
        f"WHILLY_GIT_PROTOCOLS allows {', '.join(sorted(allowed))}."
    )


def _network(text: str, scheme: str) -> GitAddress:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _bad(text) from None
    if parts.password is not None or (parts.username is not None and scheme != "ssh"):
        raise BadAddress(f"{_shown(text)} contains a user name or a password; write the address without it.")
    host = _host(text, f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or "")
    if parts.username is not None and not _USER.fullmatch(parts.username):
        raise _bad(text)
    if parts.query or parts.fragment or not _is_path(parts.path.lstrip("/")):
        raise _bad(text)
    user = f"{parts.username}@" if parts.username else ""
    where = host if port is None else f"{host}:{port}"
    return GitAddress(f"{scheme}://{user}{where}{parts.path}", scheme, host, port, parts.path)


def _scp(text: str) -> GitAddress:
    found = _SCP.fullmatch(text)
    if found is None:
        raise _bad(text)
    user, host, path = found[1], _host(text, found[2]), found[3]
    if (user is not None and not _USER.fullmatch(user)) or not _is_path(path):
        raise _bad(text)
    return GitAddress(f"{user + '@' if user else ''}{host}:{path}", "ssh", host, path=path)


def _file(text: str) -> GitAddress:
    path = text[len("file://") :]
    if not path.startswith("/"):
        raise BadAddress(f"{_shown(text)} names a file of another machine; write file:///path/of/the/folder.")
    return GitAddress(f"file://{path}", "file", path=path)


def _host(text: str, host: str) -> str:
    if not _HOST.fullmatch(host):
        raise _bad(text)
    return host.lower()


def _is_path(path: str) -> bool:
    """One that neither git nor a shell on the other side takes for something else."""
    return bool(_PATH.fullmatch(path)) and not path.startswith("-") and not _ENDS_A_LINE.search(path)


def _bad(text: str) -> BadAddress:
    return BadAddress(
        f"{_shown(text)} is not the address of a git repository; write https://host/owner/name.git, "
        "ssh://git@host/owner/name.git, git@host:owner/name.git or the whole path of a folder."
    )


def _shown(text: str) -> str:
    """The address without what might be a password."""
    return repr(re.sub(r"//[^/@\s]*@", "//…@", text[:200]))
