"""What can go wrong between us and an instance, besides the transport."""

from __future__ import annotations

from agentic.core.http import FetchError
from agentic.executors import SourceRefusedError


class TimelineRefusedError(SourceRefusedError):
    """An instance will say the same to another try; ``instance`` is its host."""

    def __init__(self, refusal: FetchError, instance: str, secret: str | None) -> None:
        super().__init__(refusal, _advice(refusal.status, instance, secret))
        self.instance = instance
        self.secret = secret


def _advice(status: int | None, instance: str, secret: str | None) -> str:
    match status:
        case 401 | 403 | 422 if secret is None:
            return (
                f"; {instance} shows this to nobody who is not logged in: make an application there "
                f"(Preferences > Development, scope read:statuses), store its access token with "
                f"`agentic secrets set mastodon`, and give the agent token=${{secrets.mastodon}}"
            )
        case 401 | 403 | 422:
            return (
                f"; {instance} does not take the token: make one that may read:statuses, and store it with "
                f"`agentic secrets set {secret}`"
            )
        case 404 | 410:
            return f"; there is no such account or timeline on {instance} (any more): correct the agent"
        case _:
            return ""
