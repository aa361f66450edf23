"""Where the commands about tokens get their work done: at the database, or at a server that an operator asks."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from whilly.cli.session import with_database
from whilly.core.errors import BadSetting
from whilly.core.tokens import TokenKind
from whilly.settings import Settings

if TYPE_CHECKING:
    import httpx2

    from whilly.store.database import Database
    from whilly.wire.tokens import NewToken, Revocation, TokenRequest, ToldToken

Result = TypeVar("Result")


class TokenDesk(Protocol):
    """What operators do about tokens."""

    async def mint(self, request: "TokenRequest") -> "NewToken":
        """Make one."""
        ...

    async def tokens(self, kind: TokenKind | None, *, ended: bool) -> "tuple[ToldToken, ...]":
        """Which there are."""
        ...

    async def revoke(self, token: str) -> "Revocation":
        """End one, and all that were issued with it."""
        ...

    async def rotate(self, token: str) -> "NewToken":
        """Replace one."""
        ...

    async def revoke_worker(self, worker: str) -> "Revocation":
        """Turn a worker out."""
        ...


def at_desk(
    work: Callable[[TokenDesk], Awaitable[Result]], connect: str, token_file: Path | None, *, insecure: bool
) -> Result:
    """Do the work: with an operator's token at the server, without one at the database of the settings."""
    if token_file is None:
        if connect:
            raise BadSetting("To ask a server, add --token-file with an operator's token.")
        return with_database(lambda database: work(_AtDatabase(database)))

    import asyncio

    from whilly.cli.login import _token as token_in
    from whilly.cli.worker_main import checked_address

    address = checked_address(connect or Settings.from_environment().control_url or "", insecure=insecure)
    bearer = token_in(token_file)

    async def ask() -> Result:
        from whilly.client.connect import over_network

        async with over_network(address, bearer) as http:
            return await work(_AtServer(http, address))

    return asyncio.run(ask())


class _AtDatabase:
    def __init__(self, database: "Database") -> None:
        self._database = database

    async def mint(self, request: "TokenRequest") -> "NewToken":
        from whilly.operations.mint_token import mint_token
        from whilly.server.told_tokens import new_token

        lasts = None if request.lifetime_seconds is None else timedelta(seconds=request.lifetime_seconds)
        issued = await mint_token(
            self._database,
            request.kind,
            request.owner,
            plan=request.plan,
            lifetime=lasts,
            uses=request.uses,
            worker=request.worker,
        )
        return new_token(issued)

    async def tokens(self, kind: TokenKind | None, *, ended: bool) -> "tuple[ToldToken, ...]":
        from whilly.operations.read_tokens import list_tokens
        from whilly.server.told_tokens import told_token

        return tuple(told_token(each) for each in await list_tokens(self._database, kind, ended=ended))

    async def revoke(self, token: str) -> "Revocation":
        from whilly.operations.shut_out import withdraw_token
        from whilly.server.told_tokens import told_revocation

        return told_revocation(await withdraw_token(self._database, token))

    async def rotate(self, token: str) -> "NewToken":
        from whilly.operations.rotate_token import rotate_token
        from whilly.server.told_tokens import new_token

        return new_token(await rotate_token(self._database, token))

    async def revoke_worker(self, worker: str) -> "Revocation":
        from whilly.operations.shut_out import revoke_worker
        from whilly.server.told_tokens import told_revocation

        return told_revocation(await revoke_worker(self._database, worker))


class _AtServer:
    def __init__(self, http: "httpx2.AsyncClient", address: str) -> None:
        self._http = http
        self._address = address

    async def mint(self, request: "TokenRequest") -> "NewToken":
        from whilly.wire.codec import encode
        from whilly.wire.tokens import NewToken

        return await self._ask("POST", "/api/v1/tokens", NewToken, encode(request))

    async def tokens(self, kind: TokenKind | None, *, ended: bool) -> "tuple[ToldToken, ...]":
        from whilly.wire.tokens import TokenList

        words = ["limit=1000", *(["ended=true"] if ended else []), *([f"kind={kind.value}"] if kind else [])]
        return (await self._ask("GET", f"/api/v1/tokens?{'&'.join(words)}", TokenList)).tokens

    async def revoke(self, token: str) -> "Revocation":
        from whilly.wire.tokens import Revocation

        return await self._ask("POST", f"/api/v1/tokens/{_part(token)}/revoke", Revocation)

    async def rotate(self, token: str) -> "NewToken":
        from whilly.wire.tokens import NewToken

        return await self._ask("POST", f"/api/v1/tokens/{_part(token)}/rotate", NewToken)

    async def revoke_worker(self, worker: str) -> "Revocation":
        from whilly.wire.tokens import Revocation

        return await self._ask("POST", f"/api/v1/workers/{_part(worker)}/revoke", Revocation)

    async def _ask(self, method: str, path: str, kind: type[Result], content: bytes = b"") -> Result:
        import httpx2
        from pydantic import ValidationError

        from whilly.client.answers import NoUsableAnswer, accepted
        from whilly.client.errors import Rejected
        from whilly.core.errors import Refused
        from whilly.wire.codec import decode

        headers = {"Content-Type": "application/json"}
        try:
            answer = await self._http.request(method, path, content=content, headers=headers, timeout=30)
            accepted(answer)
            return decode(kind, answer.content)
        except Rejected as refusal:
            error = Refused if refusal.problem.status == 409 else BadSetting
            raise error(f"The server at {self._address} refuses: {refusal}") from None
        except (httpx2.HTTPError, NoUsableAnswer) as problem:
            raise BadSetting(f"The server at {self._address} does not answer: {problem}.") from None
        except ValidationError:
            raise BadSetting(f"The server at {self._address} answers something else than agreed.") from None


def _part(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
