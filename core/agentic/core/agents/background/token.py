"""The token of a background run: a caller finds the run with it."""

from __future__ import annotations

import base64
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from agentic.core.agents.errors import ContinuationTokenError
from agentic.core.types import TaskId

MAX_CHARS = 8_192
"""Of an encoded token; longer text is refused unread."""


class ContinuationToken(BaseModel):
    """Names a background run, and how far its reader has come. Agent Framework has one of the same name.

    Keep it anywhere: :meth:`encode` makes a text of it, for any process that reaches the same runs. It is not
    signed and holds no content: a program that takes tokens from outside must check by itself that the
    sender may read the thread.
    """

    __wire_name__ = "agentic.core.agents.background.token.ContinuationToken"

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    task_id: TaskId = Field(description="The background run.")
    agent: str = Field(description="Name of the agent.")
    thread_id: str
    turn: str = Field(description="Id of the turn that the run takes.")
    sequence: NonNegativeInt = Field(default=0, description="The last piece that the reader has seen.")
    cursor: NonNegativeInt = Field(default=0, description="Its place in the stream of events.")
    created_at: float = Field(description="Seconds since the epoch.")
    expires_at: float | None = Field(default=None, description="The token is refused from then on.")

    def encode(self) -> str:
        """Return it as text of letters, digits, ``_`` and ``-``."""
        content = self.model_dump_json(exclude_defaults=True).encode()
        return base64.urlsafe_b64encode(content).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> ContinuationToken:
        """Return the token that :meth:`encode` wrote.

        Raises:
            ContinuationTokenError: It is not a token, or one of another version.
        """
        if len(text) > MAX_CHARS:
            raise ContinuationTokenError(f"a token of {len(text)} characters; {MAX_CHARS} is the most")
        try:
            padded = text.encode("ascii") + b"=" * (-len(text) % 4)
            content = base64.b64decode(padded, altchars=b"-_", validate=True)
            return cls.model_validate_json(content)
        except ValidationError as exc:
            fields = ", ".join(sorted({str(fault["loc"][0]) for fault in exc.errors() if fault["loc"]}))
            raise ContinuationTokenError(
                f"not a token of this version (unfit: {fields or 'all of it'}); start a new background run"
            ) from None
        except ValueError:
            raise ContinuationTokenError(
                f"not a token: {text[:40]!r}; pass the text from token.encode()"
            ) from None

    def after(self, sequence: int, cursor: int | None = None) -> ContinuationToken:
        """Return the token of a reader who has seen more.

        Args:
            sequence: The last piece that the reader has seen.
            cursor: Its place in the stream of events; unchanged if omitted.
        """
        return self.model_copy(
            update={"sequence": sequence, "cursor": self.cursor if cursor is None else cursor}
        )

    def check(self, agent: str, now: float) -> None:
        """Check that an agent can use the token at this time.

        Args:
            agent: Name of the agent.
            now: Seconds since the epoch.

        Raises:
            ContinuationTokenError: It belongs to another agent, or has expired.
        """
        if self.agent != agent:
            raise ContinuationTokenError(
                f"the token belongs to agent {self.agent!r}, not {agent!r}; use the agent that gave it"
            )
        if self.expires_at is not None and self.expires_at <= now:
            raise ContinuationTokenError(
                f"the token of agent {agent!r} expired {now - self.expires_at:.0f} s ago; read the answer "
                f"from thread {self.thread_id!r}, if it is stored"
            )
