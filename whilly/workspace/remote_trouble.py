"""Turns what git says about a repository elsewhere into one sentence with a remedy. Pure."""

import re

from whilly.core.git_address import GitAddress
from whilly.workspace.errors import RemoteFailed, Trouble

_UNREACHABLE = re.compile(
    r"could not resolve host|couldn't resolve|name or service not known|temporary failure in name resolution"
    r"|failed to connect|couldn't connect|connection (?:refused|reset|timed out|closed)|network is unreachable"
    r"|no route to host|operation (?:timed out|too slow)|timed out|early eof|hung up unexpectedly|empty reply"
    r"|rpc failed|returned error: (?:408|429|5\d\d)|unexpected disconnect|broken pipe|recv failure|send failure",
    re.IGNORECASE,
)
_CERTIFICATE = re.compile(
    r"ssl certificate|certificate verif|self[- ]signed|ssl peer certificate|gnutls|ssl_", re.IGNORECASE
)
_HOST_KEY = re.compile(r"host key verification failed|no .*host key is known", re.IGNORECASE)
_CREDENTIALS = re.compile(
    r"authentication failed|could not read (?:username|password)|terminal prompts disabled|returned error: 401"
    r"|access denied|permission denied \(|invalid (?:username|credentials)|unable to get password",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"repository .*not found|not found|returned error: 404|does not appear to be a git repository|does not exist"
    r"|no such (?:file|project|repository)|could not be found",
    re.IGNORECASE,
)
_NOT_ALLOWED = re.compile(
    r"returned error: 403|permission to .* denied|not allowed|protected|hook declined|remote rejected|write access"
    r"|read[- ]only|insufficient permission|unpacker error|deny updating|unable to create temporary object",
    re.IGNORECASE,
)


def remote_failed(address: GitAddress, doing: str, said: str, *, has_token: bool, own: bool) -> RemoteFailed:
    """What is the matter. `doing`: `fetched from` or `pushed to`; `own`: the operator's own helpers were asked."""
    trouble, why = _judged(address, doing, said, has_token=has_token, own=own)
    return RemoteFailed(f"{address.url} cannot be {doing}: {why}", trouble)


def _judged(address: GitAddress, doing: str, said: str, *, has_token: bool, own: bool) -> tuple[Trouble, str]:
    push = doing == "pushed to"
    if _HOST_KEY.search(said):
        return (
            Trouble.CREDENTIALS,
            f"the key of {address.host} is not known here; connect once with `ssh {address.host}`.",
        )
    if _CERTIFICATE.search(said):
        return (
            Trouble.UNREACHABLE,
            f"the certificate of {address.host} is not trusted here; name its CA in SSL_CERT_FILE.",
        )
    if push and _NOT_ALLOWED.search(said):
        return Trouble.NOT_ALLOWED, f"it does not take the branch ({_last(said)})."
    if _CREDENTIALS.search(said) or "returned error: 403" in said:
        return Trouble.CREDENTIALS, _credentials(address, has_token=has_token, own=own)
    if _UNREACHABLE.search(said) and not ("hung up unexpectedly" in said and _UNKNOWN.search(said)):
        return Trouble.UNREACHABLE, f"{address.host or address.path} does not answer as it should ({_last(said)})."
    if _UNKNOWN.search(said):
        hint = "" if address.protocol == "file" else ", or the credentials may not see it"
        return Trouble.UNKNOWN, f"there is no such repository{hint}; correct the plan's clone_url."
    return Trouble.OTHER, f"{_last(said)}."


def _credentials(address: GitAddress, *, has_token: bool, own: bool) -> str:
    if address.protocol == "ssh":
        return f"{address.host} refused the key; load one that may into the SSH agent of whoever runs the worker."
    if has_token:
        return f"{address.site} refused the token; give a valid one in WHILLY_GIT_TOKEN or WHILLY_GIT_TOKENS."
    if own:
        return f"{address.site} wants credentials and your git's helpers know none; log in there with your git once."
    return (
        f"{address.site} wants credentials and there are none for it; set WHILLY_GIT_TOKEN and name the host in "
        "WHILLY_GIT_TOKEN_HOSTS, or allow your git's own helpers with WHILLY_GIT_OWN_CREDENTIALS=yes."
    )


def _last(said: str) -> str:
    """Git's own words: the line that says most, without the prefixes."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if "rejected]" in line]
    telling = (
        telling or [line for line in lines if line.startswith(("fatal:", "error:", "remote: error", "ssh:"))] or lines
    )
    if not telling:
        return "git gave no reason"
    return telling[0].removeprefix("fatal: ").removeprefix("error: ").removeprefix("remote: ").rstrip(".")[:300]
