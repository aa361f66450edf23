"""A browser comes in by a link that works once, and leaves again."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from whilly.operations.log_in import LINK_LIFETIME, SESSION_LIFETIME, issue_login, use_login
from whilly.operations.revoke_token import revoke_token
from whilly.server.auth import EVERYBODY, OPERATORS, PEOPLE, cookie_name
from whilly.server.bodies import answer
from whilly.server.dashboard.rendering import bare_page
from whilly.server.engine import caller_of, engine_of
from whilly.server.errors import Denied
from whilly.server.route import Route
from whilly.wire.logins import LoginLink

GONE = {410: "The link was used already, or is too old."}


async def login(request: Request) -> Response:
    """Turn the one-time code into a session's cookie."""
    if request.method == "HEAD" or "prefetch" in request.headers.get("sec-purpose", ""):
        # Whoever looks ahead would use the link up before the person follows it.
        raise Denied(503, "not_now", "This link is not for fetching ahead.")
    engine = engine_of(request)
    engine.access.check_guesses(request)
    session = await use_login(engine.database, request.path_params["code"])
    if session is None:
        engine.access.wrong(request)
        return bare_page("stranger.html", 410, "This link was used already, or is too old.")
    engine.wrote()
    # Not a redirect: a strict cookie is not sent along one that began on another site, such as a terminal in a browser.
    response = bare_page("welcome.html")
    response.set_cookie(
        cookie_name(request),
        session.bearer,
        max_age=int(SESSION_LIFETIME.total_seconds()),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


async def link(request: Request) -> Response:
    """Make a link that lets one browser in, once, as whoever asks; it ends with the token that asks for it."""
    caller = caller_of(request)
    code = await issue_login(engine_of(request).database, caller.name, parent=caller.token)
    return answer(LoginLink(code, LINK_LIFETIME.total_seconds()), 201)


async def logout(request: Request) -> Response:
    """End the session."""
    engine = engine_of(request)
    await revoke_token(engine.database, caller_of(request).token)
    engine.access.forget()
    engine.wrote()
    response = RedirectResponse("/", 303)
    response.delete_cookie(cookie_name(request), path="/", httponly=True, samesite="strict")
    return response


ROUTES = (
    Route("GET", "/login/{code}", login, EVERYBODY, media="text/html", also=GONE),
    Route("POST", "/api/v1/logins", link, OPERATORS, gives=LoginLink, status=201),
    Route("POST", "/logout", logout, PEOPLE, status=303, minds_plan=True),
)
