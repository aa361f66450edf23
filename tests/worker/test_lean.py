"""A worker installs and runs without what only the server needs."""

import subprocess
import sys

SERVER_ONLY = ("alembic", "asyncpg", "fastapi", "jinja2", "msgspec", "sqlalchemy", "starlette", "uvicorn")


def test_a_worker_imports_nothing_of_the_server() -> None:
    program = (
        "import sys\n"
        f"for name in {SERVER_ONLY}: sys.modules[name] = None\n"
        "import whilly.worker.loop, whilly.client.connect, whilly.worker.stop\n"
        "theirs = ('whilly.store', 'whilly.operations', 'whilly.server')\n"
        "assert not [name for name in sys.modules if name.startswith(theirs)]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
