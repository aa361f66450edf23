"""A control plane answers to the name that its tunnel has just now, and to no other stranger's."""

import httpx2

from tests.control_plane import Server, eventually
from whilly.operations.published_address import publish_address


async def status(server: Server, name: str) -> int:
    transport = httpx2.ASGITransport(server.app)
    async with httpx2.AsyncClient(transport=transport, base_url=f"https://{name}") as http:
        return (await http.get("/health/live")).status_code


async def test_only_the_published_name_is_answered_to(server: Server) -> None:
    assert await status(server, "ab1.tunnel.example") == 421
    await publish_address(server.database.url, "https://ab1.tunnel.example")

    async def known() -> bool:
        return await status(server, "ab1.tunnel.example") == 200

    await eventually(known)
    assert await status(server, "evil.tunnel.example") == 421
    await publish_address(server.database.url, "https://ab2.tunnel.example")

    async def moved() -> bool:
        return await status(server, "ab2.tunnel.example") == 200

    await eventually(moved)
    assert await status(server, "ab1.tunnel.example") == 421
