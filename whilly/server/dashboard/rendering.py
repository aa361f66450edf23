"""Templates and the files beside them. Everything that is printed is escaped; the templates know no way around it."""

import gzip
import hashlib
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse

from whilly.server.guard import SECURITY

if TYPE_CHECKING:
    from jinja2 import Environment

MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages refer to."""

    content: bytes
    zipped: bytes
    media_type: str
    version: str
    """Changes with the content."""


BUNDLE = "htmx.js"
BUNDLED = ("htmx.min.js", "hx-sse.min.js")
"""In one file, for htmx may begin before the next file has arrived, and then without its extension."""


@cache
def assets() -> dict[str, Asset]:
    """All files of `static/`, by name, and the bundle."""
    contents = {
        entry.name: entry.read_bytes() for entry in files("whilly.server.dashboard").joinpath("static").iterdir()
    }
    contents[BUNDLE] = b"\n".join(contents[name] for name in BUNDLED)
    return {name: _asset(name, content) for name, content in contents.items()}


def _asset(name: str, content: bytes) -> Asset:
    media_type = f"{MEDIA_TYPES[name.rpartition('.')[2]]}; charset=utf-8"
    return Asset(content, gzip.compress(content, mtime=0), media_type, hashlib.sha256(content).hexdigest()[:12])


def asset_url(name: str) -> str:
    """Where a page finds a file, in its present version."""
    return f"/static/{name}?v={assets()[name].version}"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("whilly.server.dashboard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["asset"] = asset_url
    return environment


def _shown(value: object) -> object:
    """Without characters that hide others or turn text around; what the templates made themselves stays."""
    if type(value) is not str or value.isprintable():
        return value
    return "".join(letter for letter in value if letter in "\n\t" or letter.isprintable())


def render(template: str, **values: object) -> str:
    """The template's text."""
    return _environment().get_template(template).render(**values)


def bare_page(template: str, status: int = 200, reason: str = "") -> HTMLResponse:
    """A page for a browser that is not logged in: it may load nothing, so it brings its few lines of style along."""
    style = files("whilly.server.dashboard").joinpath("templates", "bare.css").read_text(encoding="utf-8")
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = SECURITY["Content-Security-Policy"].replace("style-src 'self'", f"style-src 'sha256-{digest}'")
    policy = policy.replace("img-src 'self'", "img-src data:")
    content = render(template, bare_style=Trusted(style), reason=reason)
    return HTMLResponse(content, status, {"Content-Security-Policy": policy})


class Trusted(str):
    """Text that a template of ours made, and that is not to be escaped again."""

    __slots__ = ()

    def __html__(self) -> str:
        return self
