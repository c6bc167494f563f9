"""What opens the job board. Nothing here is a secret: it is a fake."""

from __future__ import annotations

USERNAME = "demo"
PASSWORD = "demo-password"  # noqa: S105 - a fake's
CLIENT_ID = "demo-client"
CLIENT_SECRET = "demo-client-secret"  # noqa: S105 - a fake's
