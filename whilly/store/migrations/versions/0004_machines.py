"""What workers can do, what tasks want of them, and results that travel as bundles."""

from whilly.store.migrations.script import run_script

revision = "0004"
down_revision = "0003"
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
