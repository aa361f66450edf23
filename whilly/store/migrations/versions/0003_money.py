"""Caps on what a day may cost, and how far followers of the log have come."""

from whilly.store.migrations.script import run_script

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

UP = """
select 1;
"""

DOWN = """
select 1;
"""


def upgrade() -> None:
    run_script(UP)


def downgrade() -> None:
    run_script(DOWN)
