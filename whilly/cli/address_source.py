"""Where a worker learns of its control plane's new address: a file or a table that the keeper of a tunnel writes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from whilly.core.errors import BadSetting
from whilly.settings import Settings

Read = Callable[[], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class AddressSource:
    """How to find the address out, and how often to look."""

    read: Read
    every: float
    """Seconds."""


def address_source(settings: Settings, check: Callable[[str], str]) -> AddressSource | None:
    """None for an address that never changes. `check` gives the address in its plain form and raises for a bad one."""
    match settings.funnel_url_source:
        case "static":
            return None
        case "file":
            file = settings.funnel_url_file
            return AddressSource(lambda: _from_file(file, check), settings.funnel_poll_seconds or 5)
        case _:
            url = settings.database_url
            if url is None:
                raise BadSetting(
                    "WHILLY_FUNNEL_URL_SOURCE is postgres, so WHILLY_DATABASE_URL has to name the database."
                )
            return AddressSource(_from_table(url, check), settings.funnel_poll_seconds or 30)


async def _from_file(file: Path, check: Callable[[str], str]) -> str | None:
    import asyncio

    try:
        found = (await asyncio.to_thread(file.read_text, encoding="utf-8")).strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise BadSetting(f"The address file {file} cannot be read: {problem}.") from None
    return check(found) if found else None


def _from_table(url: str, check: Callable[[str], str]) -> Read:
    try:
        from whilly.operations.published_address import read_published_address
    except ImportError:
        raise BadSetting(
            "WHILLY_FUNNEL_URL_SOURCE is postgres, and this installation has no driver for it; "
            "install `asyncpg` beside whilly, or let the tunnel's keeper write a file."
        ) from None

    async def read() -> str | None:
        found = await read_published_address(url)
        return check(found) if found else None

    return read
