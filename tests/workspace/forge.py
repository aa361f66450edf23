"""A git server on loopback: real `git http-backend` behind Basic authentication, with rules for pushes."""

import base64
import os
import secrets
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.worker.repository import GIT_ENVIRONMENT, Repository, new_repository

TOKEN = f"forge-token-{secrets.token_hex(6)}"
"""Each process of a test run has its own: a test that looks whether it leaks sees the programs of the others, too."""
USER = "x-access-token"


@dataclass
class Forge:
    """The server and its repositories."""

    root: Path
    url: str = ""
    readers: set[str] = field(default_factory=lambda: {TOKEN})
    """Tokens that may fetch; without any, everybody may."""
    writers: set[str] = field(default_factory=lambda: {TOKEN})
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Path with query, and who asked: a token or nothing."""
    broken: bool = False
    """Answers 502 to everything."""
    redirect_to: str = ""

    @property
    def site(self) -> str:
        return self.url.removeprefix("http://")

    def address(self, name: str = "shop") -> str:
        return f"{self.url}/{name}.git"

    def repository(self, name: str = "shop") -> Repository:
        return Repository(self.root / f"{name}.git")

    def add(self, name: str = "shop", **files: str) -> Repository:
        """A repository with a branch main."""
        origin = new_repository(self.root / f"{name}-origin", **files)
        origin.git("clone", "--quiet", "--bare", str(origin.path), str(self.root / f"{name}.git"))
        bare = self.repository(name)
        bare.git("config", "http.receivepack", "true")
        bare.git("config", "uploadpack.allowReachableSHA1InWant", "true")
        return bare

    def hook(self, script: str, name: str = "shop") -> None:
        """What decides about pushes, as pre-receive."""
        path = self.root / f"{name}.git/hooks/pre-receive"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)


def commit_on(bare: Repository, branch: str, message: str, *, parent: str = "main", **files: str) -> str:
    """Somebody's commit, straight into a bare repository; the branch is set to it."""
    environment = {"GIT_INDEX_FILE": str(bare.path / "index-of-tests")}

    def git(*arguments: str, feed: str | None = None) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=bare.path, env={**GIT_ENVIRONMENT, **environment},
            check=True, capture_output=True, text=True, input=feed,
        )  # fmt: skip
        return done.stdout.strip()

    git("read-tree", parent)
    for name, content in files.items():
        blob = git("hash-object", "-w", "--stdin", feed=content)
        git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    commit = git("commit-tree", git("write-tree"), "-p", git("rev-parse", parent), "-m", message)
    git("update-ref", f"refs/heads/{branch}", commit)
    return commit


@contextmanager
def forge(root: Path) -> Iterator[Forge]:
    """Serve, until the block ends."""
    root.mkdir(parents=True, exist_ok=True)
    served = Forge(root)
    backend = Path(subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            token = _token(self.headers.get("Authorization", ""))
            served.requests.append((self.path, token))
            body = self._body()
            path, _, query = self.path.partition("?")
            pushes = "receive-pack" in self.path
            allowed = served.writers | served.readers if pushes and served.readers else served.readers
            if served.broken:
                self._say(502, b"Bad gateway")
            elif served.redirect_to:
                self._say(302, b"", Location=served.redirect_to + self.path)
            elif allowed and token not in allowed:
                self._say(401, b"no", **{"WWW-Authenticate": 'Basic realm="forge"'})
            elif pushes and token not in served.writers:
                self._say(403, b"You may not push here.")
            elif not (served.root / path.split("/")[1]).is_dir():
                self._say(404, b"Repository not found.")
            else:
                self._run(path, query, body)

        def _body(self) -> bytes:
            if "chunked" in self.headers.get("Transfer-Encoding", ""):
                pieces = []
                while size := int(self.rfile.readline().strip() or b"0", 16):
                    pieces.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(pieces)
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def _run(self, path: str, query: str, body: bytes) -> None:
            environment = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(served.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_NOSYSTEM": "1",
                "HOME": "/nonexistent",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REMOTE_USER": USER,
                "REMOTE_ADDR": "127.0.0.1",
            }
            done = subprocess.run(
                [backend / "git-http-backend"], input=body, env=environment, capture_output=True, check=False
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            status = int(headers.pop("Status", "200 OK").split()[0])
            self._say(status, content, **headers)

        def _say(self, status: int, content: bytes, **headers: str) -> None:
            with suppress(OSError):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _token(header: str) -> str:
    scheme, _, value = header.partition(" ")
    if scheme != "Basic":
        return ""
    return base64.b64decode(value).decode().partition(":")[2]
