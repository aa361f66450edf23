"""How much one server takes, and from whom: connections, bytes and seconds."""

import ipaddress
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from whilly.core.errors import BadSetting
from whilly.wire.work import Problem

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and counts for the connections of one server."""

    connections: int = 5_000
    connections_per_address: int = 1_500
    """Enough for a thousand waiting workers behind one router, and too few to take all places from others."""
    receipt: float = 10.0
    """A request has arrived completely so long after its first byte, or its connection ends."""
    stuck: float = 10.0
    """A client that takes hardly anything of its answer for so long is gone, whatever its connection says."""
    idle: float = 35.0
    """Longer than our own clients keep a connection that they do not use (30 s), so that it is they who end it."""
    largest_head: int = 64_000
    """Bytes of a request that are not its body."""


LIMITS = Limits()

OTHER_FILES = 200
"""What a server has open besides the connections of its clients: the database's, files, what libraries use."""


def that_fit(limits: Limits) -> Limits:
    """As many connections as this process may have, after it has asked the system for enough."""
    try:
        import resource
    except ImportError:
        return limits
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + OTHER_FILES
    if allowed == resource.RLIM_INFINITY or allowed >= wanted:
        return limits
    allowed = wanted if most == resource.RLIM_INFINITY else max(allowed, min(wanted, most))
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    return replace(limits, connections=max(1, min(limits.connections, allowed - OTHER_FILES)))


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Addresses and networks, as `10.0.0.5` and `10.0.0.0/8`. Raises BadSetting for anything else."""
    found = []
    for text in texts:
        try:
            found.append(ipaddress.ip_network(text.strip()))
        except ValueError:
            raise BadSetting(f"{text!r} is no address or network; write for instance 10.0.0.5 or 10.0.0.0/8.") from None
    return tuple(found)


class Crowd:
    """Everybody who is connected, counted by address."""

    def __init__(self, limits: Limits = LIMITS, proxies: Iterable[Network] = ()) -> None:
        """From the addresses of `proxies` come many clients: only the total counts for them."""
        self.limits = limits
        self._proxies = tuple(proxies)
        self._from: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._from.total()

    def enter(self, source: str) -> Problem | None:
        """Count one more connection from there; a problem when that would be too many, and then it does not count."""
        if self._from.total() >= self.limits.connections:
            return Problem(
                "too_many_connections",
                "Too many connections",
                503,
                "This server has no place left.",
                "Ask again later.",
            )
        if self._from[source] >= self.limits.connections_per_address and not self._is_proxy(source):
            detail = "There are too many connections from this address."
            return Problem("too_many_connections", "Too many connections", 429, detail, "Close some of them.")
        self._from[source] += 1
        return None

    def leave(self, source: str) -> None:
        """A connection that was counted has ended."""
        self._from[source] -= 1
        if self._from[source] <= 0:
            del self._from[source]

    def _is_proxy(self, source: str) -> bool:
        if not self._proxies:
            return False
        try:
            network = ipaddress.ip_network(source)
        except ValueError:
            return False
        return any(network.version == each.version and network.overlaps(each) for each in self._proxies)


def source_of(address: str) -> str:
    """What counts as one address: of IPv6 the network of a household, since that has addresses without number."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
