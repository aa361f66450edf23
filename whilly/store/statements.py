"""The statements of `store/sql`, by file name. The first line of each says what it answers."""

from functools import cache
from importlib.resources import files


@cache
def statement(name: str) -> str:
    """The SQL text of `sql/<name>.sql`."""
    return (files("whilly.store") / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def names() -> list[str]:
    """All statements, for the test that prepares each of them."""
    folder = files("whilly.store") / "sql"
    return sorted(entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql"))
