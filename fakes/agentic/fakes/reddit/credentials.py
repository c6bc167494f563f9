"""What the fake Reddit knows its clients by. Nothing here is a secret: it is a fake."""

from __future__ import annotations

CLIENT_ID = "fakeScriptClient"
CLIENT_SECRET = "fakeScriptSecret000000000000"  # noqa: S105 - a fake's
INSTALLED_ID = "fakeInstalledClient"
"""An app on people's devices: it has no secret."""

USERNAME = "ada"
PASSWORD = "fake-password"  # noqa: S105 - a fake's
REFRESH_TOKEN = "fake-refresh-token"  # noqa: S105 - a fake's
FEED_TOKEN = "fake0feed0token"  # noqa: S105 - a fake's
