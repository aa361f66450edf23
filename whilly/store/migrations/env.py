"""What Alembic runs: the migrations of this folder, on the connection that `store.schema` hands over."""

from alembic import context
from sqlalchemy import text

from whilly.store.schema import LOCK_TIMEOUT_MS

connection = context.config.attributes.get("connection")
if connection is None:
    raise SystemExit("Run `whilly db upgrade`: it takes the lock that keeps two migrators apart.")

context.configure(connection=connection, transactional_ddl=True, transaction_per_migration=True)
with context.begin_transaction():
    connection.execute(text(f"set local lock_timeout = {LOCK_TIMEOUT_MS}"))
    context.run_migrations()
