"""A worker's way to its control plane: to one address for ever, or to wherever the control plane is just now."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whilly.core.errors import BadSetting

if TYPE_CHECKING:
    import httpx2

    from whilly.cli.address_source import AddressSource
    from whilly.client.moving import Prove


@dataclass(frozen=True, slots=True)
class Way:
    """How to get there, and whom one meets."""

    http: "httpx2.AsyncClient"
    control_plane: str
    """Stays the same when the address changes: what is kept for this control plane goes to no other."""


@asynccontextmanager
async def way_to(
    address: str,
    token: str,
    *,
    source: "AddressSource | None" = None,
    key: str = "",
    prove: "Prove | None" = None,
    tell: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Way]:
    """Open while the worker works. `key` is the control plane's pinned one, and `prove` asks for a proof of it.

    Where a key is pinned, no address gets the token without a proof. Raises BadSetting where the address may change and
    no key was pinned: whoever gets the name of a tunnel next would get the token, too.
    """
    if source is None and prove is None:
        from whilly.client.connect import over_network

        async with over_network(address, token) as http:
            yield Way(http, address)
        return
    if prove is None:
        raise BadSetting(
            "The control plane's key is not known here, so a new address cannot be trusted with the token; "
            "register this worker with `whilly worker connect`, which keeps the key, or use the source `static`."
        )
    from whilly.client.connect import network, over_moving_network
    from whilly.client.moving import MovingTransport, follow

    transport = MovingTransport(network("" if source else address), prove, tell=tell)
    if address:
        transport.move(address)
    async with over_moving_network(transport, token) as http:
        if source is None:
            yield Way(http, key)
            return
        following = asyncio.create_task(follow(source.read, transport, every=source.every, tell=tell))
        try:
            yield Way(http, key)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
