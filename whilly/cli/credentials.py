"""Where this machine keeps its workers' bearers: the system's keyring, or else a file that only this user can read."""

import json
import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from whilly.core.errors import BadSetting

SERVICE = "whilly"
KEYRING_SECONDS = 2.0
"""A keyring may ask its user for a password, on a screen that nobody looks at."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What a machine got when it registered."""

    worker: str
    bearer: str
    public_key: str
    """The control plane's; it proves with it that a new address is its own."""
    plan: str = ""
    since: str = ""
    until: str = ""
    """Times in ISO 8601; empty: it does not expire."""

    def half_over(self, now: datetime) -> bool:
        """Whether it is time for a new bearer."""
        if not self.since or not self.until:
            return False
        since, until = datetime.fromisoformat(self.since), datetime.fromisoformat(self.until)
        return now > since + (until - since) / 2


class Store(Protocol):
    """Keeps credentials by the control plane's address and the plan."""

    @property
    def place(self) -> str:
        """Where it keeps them, in words."""
        ...

    def find(self, address: str, plan: str) -> Credential | None:
        """What was kept; None when nothing was."""
        ...

    def keep(self, address: str, plan: str, credential: Credential) -> None:
        """Keep it, in place of what was kept before."""
        ...


def store_of(data_dir: Path, *, keyring: bool = True) -> Store:
    """The keyring if there is one that answers within KEYRING_SECONDS, else the file."""
    backend = _working_keyring() if keyring else None
    return _File(data_dir / "credentials.json") if backend is None else _Keyring(backend)


def _name(address: str, plan: str) -> str:
    return f"{address} {plan}".strip()


class _Keyring:
    def __init__(self, backend: Any) -> None:
        self._backend = backend

    @property
    def place(self) -> str:
        return f"the keyring ({type(self._backend).__module__.removeprefix('keyring.backends.')})"

    def find(self, address: str, plan: str) -> Credential | None:
        found = _in_time(lambda: self._backend.get_password(SERVICE, _name(address, plan)))
        return None if found is None else _credential(found, self.place)

    def keep(self, address: str, plan: str, credential: Credential) -> None:
        text = json.dumps(asdict(credential))
        _in_time(lambda: self._backend.set_password(SERVICE, _name(address, plan), text))


class _File:
    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        return f"the file {self._path}, which only you can read"

    def find(self, address: str, plan: str) -> Credential | None:
        found = self._all().get(_name(address, plan))
        return None if found is None else _credential(json.dumps(found), str(self._path))

    def keep(self, address: str, plan: str, credential: Credential) -> None:
        kept = self._all() | {_name(address, plan): asdict(credential)}
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # mkstemp makes it readable by nobody else, before anything is in it.
            handle, beside = tempfile.mkstemp(dir=self._path.parent, prefix=".credentials-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(kept, file, indent=2)
                    file.flush()
                    os.fsync(file.fileno())
                Path(beside).replace(self._path)
            except BaseException:
                with suppress(FileNotFoundError):
                    Path(beside).unlink()
                raise
        except OSError as problem:
            raise BadSetting(f"The worker's token cannot be kept in {self._path}: {problem.strerror}.") from None

    def _all(self) -> dict[str, Any]:
        try:
            if os.name == "posix" and self._path.stat().st_mode & 0o077:
                raise BadSetting(f"Others can read {self._path}, where tokens are; run `chmod 600 {self._path}`.")
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as problem:
            raise BadSetting(f"The file {self._path}, where tokens are kept, cannot be read: {problem}.") from None
        return found if isinstance(found, dict) else {}


def _credential(text: str, place: str) -> Credential:
    try:
        return Credential(**json.loads(text))
    except (ValueError, TypeError):
        raise BadSetting(f"What {place} keeps for this control plane is damaged; register with --again.") from None


def _working_keyring() -> Any | None:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        backend = _in_time(keyring.get_keyring)
        if backend is None or backend.priority <= 0:
            return None
        _in_time(lambda: backend.get_password(SERVICE, "is anybody there"))
    except (BadSetting, KeyringError, OSError, RuntimeError):
        return None
    return backend


def _in_time(work: Callable[[], Any]) -> Any:
    """What the work gives. Raises what it raises, and BadSetting when it takes longer than KEYRING_SECONDS."""
    given: list[Any] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            given.append(work())
        except BaseException as failure:
            raised.append(failure)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(KEYRING_SECONDS)
    if raised:
        raise raised[0]
    if not given:
        raise BadSetting("The keyring does not answer; use --no-keyring.")
    return given[0]
