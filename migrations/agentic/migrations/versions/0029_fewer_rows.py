"""Call the event of an execution with fewer rows than usual ``fewer``: crawls hold pages because of drift."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _rename("drift", "fewer")


def downgrade() -> None:
    _rename("fewer", "drift")


def _rename(old: str, new: str) -> None:
    rules, sent = (
        sa.table("notification_rules", sa.column("events")),
        sa.table("notifications", sa.column("event")),
    )
    op.execute(sa.update(rules).values(events=sa.func.replace(rules.c.events, old, new)))
    op.execute(sa.update(sent).where(sent.c.event == old).values(event=new))
