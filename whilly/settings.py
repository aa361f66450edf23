"""What the environment sets: read once, by whoever starts a process, and passed on as a value."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Self
from urllib.parse import SplitResult, urlsplit

from whilly.core.errors import BadSetting
from whilly.core.git_address import NETWORK_PROTOCOLS, PROTOCOLS
from whilly.core.money import Micros, from_usd
from whilly.core.names import check_id

VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "WHILLY_DATABASE_URL": "the PostgreSQL (15 or newer) to use, as `postgresql://user@host/database`; "
        "without it an embedded one runs in the data folder",
        "WHILLY_DATA_DIR": "the folder of the embedded PostgreSQL and of what workers keep; "
        "without it the platform's folder for this user's data",
        "WHILLY_LOG_DIR": "the folder in which Whilly keeps `whilly.log`, about its own work, and "
        "`whilly_events.jsonl`, a copy of the log of events; without it there are none",
        "WHILLY_ALLOWED_HOSTS": "names under which the control plane is reached besides those of its own machine, "
        "separated by commas; what is sent to other names is refused",
        "WHILLY_METRICS_TOKEN": "the bearer that may read `/metrics`; without it only tokens of kind metrics may",
        "WHILLY_WORKER_BOOTSTRAP_TOKEN": "the bootstrap token of `whilly worker register`; for the control plane a "
        "secret that lets any number of machines join",
        "WHILLY_WORKER_TOKEN": "deprecated: for the control plane a bearer that all workers have, which are then one "
        "worker to it; for `whilly-worker` its bearer when no option gives one",
        "WHILLY_SUPPRESS_WORKER_TOKEN_WARNING": "`1`: no warning about that",
        "WHILLY_BUDGET_USD": "what one `whilly run` may spend, in US dollars; without it what its plan may",
        "WHILLY_PLAN_ID": "the plan to work on when a command is not told one",
        "WHILLY_CONTROL_URL": "the address of the control plane that `whilly-worker` works for, as `https://host:port`",
        "WHILLY_WORKER_ID": "the name of this worker; without it the host's name and the first number that is free",
        "WHILLY_WORKER_TAGS": "what this worker is tagged with, separated by commas; tasks may ask for tags",
        "WHILLY_FUNNEL_URL_SOURCE": "where `whilly-worker` learns the control plane's address: `static` (it never "
        "changes; the default), `file` or `postgres`",
        "WHILLY_FUNNEL_URL_FILE": "the file with the address, for the source `file`; without it `/funnel/url.txt`",
        "WHILLY_FUNNEL_POLL_SECONDS": "how often to look for another address; without it 5 for a file, 30 for postgres",
        "WHILLY_GIT_TOKEN": "the token with which repositories elsewhere are fetched from and pushed to; "
        "it is sent to the hosts of `WHILLY_GIT_TOKEN_HOSTS` and to no other",
        "WHILLY_GIT_TOKEN_HOSTS": "the hosts of that token, separated by commas; without it `github.com`",
        "WHILLY_GIT_TOKENS": "tokens of further hosts, as names of variables: `git.example.org=CORP_TOKEN,…`",
        "WHILLY_GIT_USER": "the user's name beside those tokens; without it `x-access-token`",
        "WHILLY_GIT_OWN_CREDENTIALS": "`yes`: for hosts without a token, ask the credential helpers that your own git "
        "is configured with",
        "WHILLY_GIT_PROTOCOLS": "the protocols that repositories elsewhere may be reached by; "
        "without it `https,ssh,file` (and http on this machine)",
        "WHILLY_BUNDLE_LIMIT_MB": "how large a result may be that cannot be pushed and is kept by the control plane; "
        "without it 100",
        "CLAUDE_BIN": "the Claude Code program; without it `claude` on the PATH",
        "WHILLY_CLAUDE_MODEL": "the model Claude Code shall use; without it `WHILLY_MODEL`, else its own choice",
        "WHILLY_MODEL": "the older name of `WHILLY_CLAUDE_MODEL`",
        "WHILLY_CLAUDE_PROXY_URL": "the HTTP proxy that Claude Code, and nothing else, reaches the network through",
        "WHILLY_CLAUDE_NO_PROXY": "hosts that Claude Code reaches without that proxy, separated by commas; "
        "without it `localhost,127.0.0.1,::1`",
    }
)
"""Every variable that is read, with its meaning. An empty value counts as none."""


@dataclass(frozen=True)
class Settings:
    """The environment, checked. Its `repr` shows no password."""

    data_dir: Path
    log_dir: Path | None = None
    database_url: str | None = field(default=None, repr=False)
    """None means the embedded server."""
    allowed_hosts: tuple[str, ...] = ()
    plan_id: str | None = None
    control_url: str | None = None
    """As it was given: whether it is safe for a token is for the worker to judge."""
    worker_id: str | None = None
    worker_tags: tuple[str, ...] = ()
    funnel_url_source: str = "static"
    """static, file or postgres."""
    funnel_url_file: Path = Path("/funnel/url.txt")
    funnel_poll_seconds: float | None = None
    metrics_token: str | None = field(default=None, repr=False)
    bootstrap_token: str | None = field(default=None, repr=False)
    shared_worker_token: str | None = field(default=None, repr=False)
    quiet_about_shared_token: bool = False
    run_budget: Micros | None = None
    """None: whatever the plan may spend."""
    git_tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By host, or host and port."""
    git_user: str = "x-access-token"
    git_own_credentials: bool = False
    git_protocols: frozenset[str] = frozenset(PROTOCOLS)
    bundle_limit_mb: int = 100
    claude_bin: str = "claude"
    claude_model: str | None = None
    claude_proxy_url: str | None = field(default=None, repr=False)
    claude_no_proxy: str = "localhost,127.0.0.1,::1"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the variables of VARIABLES. Raises BadSetting, which names the variable and says what to write."""
        given = {name: value for name in VARIABLES if (value := environ.get(name, "").strip())}
        return cls(
            data_dir=_folder(given, "WHILLY_DATA_DIR") or _own_folder(),
            log_dir=_folder(given, "WHILLY_LOG_DIR"),
            database_url=_database_url(given),
            allowed_hosts=_hosts(given),
            plan_id=_name(given, "WHILLY_PLAN_ID"),
            control_url=given.get("WHILLY_CONTROL_URL"),
            worker_id=_name(given, "WHILLY_WORKER_ID"),
            worker_tags=tags_in(given.get("WHILLY_WORKER_TAGS", ""), "WHILLY_WORKER_TAGS"),
            funnel_url_source=_one_of(given, "WHILLY_FUNNEL_URL_SOURCE", "static", "file", "postgres"),
            funnel_url_file=Path(given.get("WHILLY_FUNNEL_URL_FILE", cls.funnel_url_file)).expanduser(),
            funnel_poll_seconds=_seconds(given, "WHILLY_FUNNEL_POLL_SECONDS"),
            metrics_token=given.get("WHILLY_METRICS_TOKEN"),
            bootstrap_token=given.get("WHILLY_WORKER_BOOTSTRAP_TOKEN"),
            shared_worker_token=given.get("WHILLY_WORKER_TOKEN"),
            quiet_about_shared_token=given.get("WHILLY_SUPPRESS_WORKER_TOKEN_WARNING", "0") != "0",
            run_budget=_dollars(given, "WHILLY_BUDGET_USD"),
            git_tokens=_git_tokens(given, environ),
            git_user=_name(given, "WHILLY_GIT_USER") or cls.git_user,
            git_own_credentials=_yes(given, "WHILLY_GIT_OWN_CREDENTIALS"),
            git_protocols=_git_protocols(given),
            bundle_limit_mb=_megabytes(given, "WHILLY_BUNDLE_LIMIT_MB", cls.bundle_limit_mb),
            claude_bin=given.get("CLAUDE_BIN", cls.claude_bin),
            claude_model=given.get("WHILLY_CLAUDE_MODEL") or given.get("WHILLY_MODEL"),
            claude_proxy_url=_proxy_url(given),
            claude_no_proxy=given.get("WHILLY_CLAUDE_NO_PROXY", cls.claude_no_proxy),
        )


def _folder(given: Mapping[str, str], name: str) -> Path | None:
    if name not in given:
        return None
    try:
        folder = Path(given[name]).expanduser().absolute()
    except RuntimeError:
        raise BadSetting(f"{name} starts with ~ but there is no home folder; write the whole path.") from None
    if folder.exists() and not folder.is_dir():
        raise BadSetting(
            f"{name} is {folder}, which is not a folder; name a folder, it is made when it does not exist."
        )
    return folder


def _own_folder() -> Path:
    # A quarter of the time of `whilly --help` when it is not needed.
    import platformdirs

    return platformdirs.user_data_path("whilly")


def _name(given: Mapping[str, str], name: str) -> str | None:
    value = given.get(name)
    if value is not None and (len(value) > 200 or not value.isprintable() or " " in value):
        raise BadSetting(f"{name} is not a name: use letters, digits, dots and dashes, without spaces.")
    return value


def tags_in(text: str, where: str) -> tuple[str, ...]:
    """Tags separated by commas, each once. Raises BadSetting, naming `where` they were given."""
    tags = dict.fromkeys(tag for part in text.split(",") if (tag := part.strip()))
    for tag in tags:
        if wrong := check_id(tag):
            raise BadSetting(f"{where}: the tag {tag!r} {wrong}; use letters, digits, dots, dashes and underscores.")
    return tuple(tags)


def _one_of(given: Mapping[str, str], name: str, default: str, *others: str) -> str:
    value = given.get(name, default).lower()
    if value not in (default, *others):
        raise BadSetting(f"{name} is {value!r}; write one of {', '.join((default, *others))}.")
    return value


def _seconds(given: Mapping[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        seconds = float(given[name])
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise BadSetting(f"{name} is not a number of seconds from 0.1 to 3600.")
    return seconds


def _hosts(given: Mapping[str, str]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in given.get("WHILLY_ALLOWED_HOSTS", "").split(",") if name.strip())
    for name in names:
        if not is_host_name(name):
            raise BadSetting(
                f"WHILLY_ALLOWED_HOSTS holds {name!r}, which is no name of a host; write for instance "
                "whilly.example.org."
            )
    return names


def is_host_name(text: str) -> bool:
    """Whether it is a host's name or address alone, without scheme, port or path."""
    return 0 < len(text) < 254 and all(letter.isalnum() or letter in ".-_:" for letter in text) and text.isascii()


def _dollars(given: Mapping[str, str], name: str) -> Micros | None:
    if name not in given:
        return None
    try:
        amount = from_usd(given[name].removeprefix("$"))
    except ValueError:
        amount = 0
    if not amount:
        raise BadSetting(
            f"{name} is not an amount of US dollars above 0; write a number such as 5 or 2.50, or nothing for no limit."
        )
    return amount


def _git_tokens(given: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The tokens by host. Raises BadSetting for a variable that is named and not there: its value is not repeated."""
    tokens = {}
    if token := given.get("WHILLY_GIT_TOKEN"):
        for host in given.get("WHILLY_GIT_TOKEN_HOSTS", "github.com").split(","):
            tokens[_git_host("WHILLY_GIT_TOKEN_HOSTS", host)] = token
    for entry in filter(None, (each.strip() for each in given.get("WHILLY_GIT_TOKENS", "").split(","))):
        host, _, name = (part.strip() for part in entry.partition("="))
        if not name.isidentifier():
            raise BadSetting("WHILLY_GIT_TOKENS is written as host=NAME,host=NAME with names of environment variables.")
        if not environ.get(name, "").strip():
            raise BadSetting(f"WHILLY_GIT_TOKENS names the variable {name}, which is not set.")
        tokens[_git_host("WHILLY_GIT_TOKENS", host)] = environ[name].strip()
    if any(not token.isprintable() or " " in token for token in tokens.values()):
        raise BadSetting("A token for git is one word without blanks; one that was given is not.")
    return tokens


def _git_host(variable: str, text: str) -> str:
    host = text.strip().lower()
    if not re.fullmatch(r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?", host):
        raise BadSetting(f"{variable} has {text.strip()!r} where the name of a host should be, as git.example.org.")
    return host


def _git_protocols(given: Mapping[str, str]) -> frozenset[str]:
    known = (*NETWORK_PROTOCOLS, "file")
    wanted = {each.strip().lower() for each in given.get("WHILLY_GIT_PROTOCOLS", ",".join(PROTOCOLS)).split(",")} - {""}
    if not wanted or wanted - set(known):
        raise BadSetting(f"WHILLY_GIT_PROTOCOLS is a list, separated by commas, of some of {', '.join(known)}.")
    return frozenset(wanted)


def _yes(given: Mapping[str, str], name: str) -> bool:
    value = given.get(name, "no").lower()
    if value not in ("1", "yes", "true", "on", "0", "no", "false", "off"):
        raise BadSetting(f"{name} is yes or no, not {value!r}.")
    return value in ("1", "yes", "true", "on")


def _megabytes(given: Mapping[str, str], name: str, default: int) -> int:
    value = given.get(name, str(default))
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= 10_000):
        raise BadSetting(f"{name} is a number of megabytes from 1 to 10000, not {value!r}.")
    return int(value)


def _database_url(given: Mapping[str, str]) -> str | None:
    """The address as asyncpg reads it. SQLAlchemy's spelling `postgresql+driver://` is understood as well."""
    url = given.get("WHILLY_DATABASE_URL")
    if url is None:
        return None
    scheme, separator, rest = url.partition("://")
    database, _, _driver = scheme.partition("+")
    # The value may hold a password, so the sentence does not repeat it.
    if not separator or database not in ("postgres", "postgresql"):
        raise BadSetting(
            "WHILLY_DATABASE_URL is not the address of a PostgreSQL; write postgresql://user:password@host/database."
        )
    _split("WHILLY_DATABASE_URL", url)
    return f"postgresql://{rest}"


def _proxy_url(given: Mapping[str, str]) -> str | None:
    url = given.get("WHILLY_CLAUDE_PROXY_URL")
    if url is None:
        return None
    parts = _split("WHILLY_CLAUDE_PROXY_URL", url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadSetting("WHILLY_CLAUDE_PROXY_URL is not the address of an HTTP proxy; write http://host:port.")
    return url


def _split(name: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise BadSetting(
            f"{name} has a host or port that cannot be; percent-encode /, :, @, # and ? in user and password."
        ) from None
    return parts
