"""The tokens that the fake GitHub knows. Nothing here is a secret: it is a fake."""

from __future__ import annotations

TOKEN = "ghp_fake0000000000000000000000000000owner"  # noqa: S105 - a fake's
OTHER_TOKEN = "ghp_fake0000000000000000000000000000other"  # noqa: S105 - a fake's
"""Token of another user: it sees no private repository."""
