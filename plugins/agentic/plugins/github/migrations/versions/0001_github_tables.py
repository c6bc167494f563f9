"""Repositories, issues and releases of GitHub."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "github_repos",
        *_keys(),
        sa.Column("full_name", sa.String(200), nullable=False),
        sa.Column("owner", sa.String(100), nullable=False),
        sa.Column("description", sa.Text()),
        sa.Column("homepage", sa.Text()),
        sa.Column("language", sa.String(100)),
        sa.Column("license", sa.String(100)),
        sa.Column("topics", sa.JSON()),
        sa.Column("default_branch", sa.Text()),
        sa.Column("stars", sa.Integer()),
        sa.Column("forks", sa.Integer()),
        sa.Column("watchers", sa.Integer()),
        sa.Column("open_issues", sa.Integer()),
        sa.Column("private", sa.Boolean()),
        sa.Column("fork", sa.Boolean()),
        sa.Column("archived", sa.Boolean()),
        sa.Column("created_at", sa.DateTime(timezone=True)),
        sa.Column("updated_at", sa.DateTime(timezone=True)),
        sa.Column("pushed_at", sa.DateTime(timezone=True)),
        sa.Column("html_url", sa.Text()),
        *_seen(),
        *_constraints("github_repos"),
    )
    op.create_index("ix_github_repos_project_id_full_name", "github_repos", ["project_id", "full_name"])
    op.create_table(
        "github_issues",
        *_keys(),
        sa.Column("repo_id", sa.BigInteger()),
        sa.Column("repo", sa.String(200)),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("is_pull_request", sa.Boolean(), nullable=False),
        sa.Column("title", sa.Text()),
        sa.Column("state", sa.String(20)),
        sa.Column("state_reason", sa.String(50)),
        sa.Column("author", sa.String(100)),
        sa.Column("labels", sa.JSON()),
        sa.Column("assignees", sa.JSON()),
        sa.Column("comments", sa.Integer()),
        sa.Column("body", sa.Text()),
        sa.Column("locked", sa.Boolean()),
        sa.Column("draft", sa.Boolean()),
        sa.Column("created_at", sa.DateTime(timezone=True)),
        sa.Column("updated_at", sa.DateTime(timezone=True)),
        sa.Column("closed_at", sa.DateTime(timezone=True)),
        sa.Column("merged_at", sa.DateTime(timezone=True)),
        sa.Column("html_url", sa.Text()),
        *_seen(),
        *_constraints("github_issues"),
    )
    op.create_index(
        "ix_github_issues_project_id_repo_id_number", "github_issues", ["project_id", "repo_id", "number"]
    )
    op.create_index("ix_github_issues_project_id_updated_at", "github_issues", ["project_id", "updated_at"])
    op.create_table(
        "github_releases",
        *_keys(),
        sa.Column("repo_id", sa.BigInteger()),
        sa.Column("repo", sa.String(200)),
        sa.Column("tag_name", sa.Text(), nullable=False),
        sa.Column("name", sa.Text()),
        sa.Column("body", sa.Text()),
        sa.Column("draft", sa.Boolean()),
        sa.Column("prerelease", sa.Boolean()),
        sa.Column("author", sa.String(100)),
        sa.Column("target", sa.Text()),
        sa.Column("asset_count", sa.Integer()),
        sa.Column("downloads", sa.BigInteger()),
        sa.Column("created_at", sa.DateTime(timezone=True)),
        sa.Column("published_at", sa.DateTime(timezone=True)),
        sa.Column("html_url", sa.Text()),
        *_seen(),
        *_constraints("github_releases"),
    )
    op.create_index(
        "ix_github_releases_project_id_repo_id_published_at",
        "github_releases",
        ["project_id", "repo_id", "published_at"],
    )


def downgrade() -> None:
    for table in ("github_releases", "github_issues", "github_repos"):
        op.drop_table(table)


def _keys() -> list[sa.Column[object]]:
    return [
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
    ]


def _seen() -> list[sa.Column[object]]:
    return [
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
    ]


def _constraints(table: str) -> list[sa.Constraint]:
    return [
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=f"fk_{table}_project_id_projects", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "id", name=f"pk_{table}"),
    ]
