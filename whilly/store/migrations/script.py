"""SQL scripts inside migrations."""

from typing import Any

from alembic import op


def run_script(sql: str) -> None:
    """Run statements separated by semicolons, in the migration's transaction.

    `op.execute` cannot: it prepares what it is given, and a prepared statement is a single one. Colons stay as written.
    """
    connection: Any = op.get_bind().connection.dbapi_connection
    connection.run_async(lambda driver: driver.execute(sql))
