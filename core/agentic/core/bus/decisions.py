"""The message format of a decision: its own JSON with the project added."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import quote

from agentic.core.audit import Decision
from agentic.core.bus.port import BusMessage, StoredMessage
from agentic.core.bus.subjects import token
from agentic.core.types import JSONValue


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedDecision:
    """A decision that was read from the bus.

    Attributes:
        stream_sequence: Its place in the stream; reading can continue after it.
        project: The project of the decision.
        decision: The decision.
    """

    stream_sequence: int
    project: str
    decision: Decision

    def to_dict(self) -> dict[str, JSONValue]:
        """Return all fields as one JSON-able object."""
        facts = self.decision.model_dump(mode="json")
        return {"stream_sequence": self.stream_sequence, "project": self.project, **facts}


def decision_message(decision: Decision, project: str) -> BusMessage:
    """Return ``decision`` ready to be published, on ``agentic.audit.{project}.{kind}``."""
    facts = {"project": project, **decision.model_dump(mode="json")}
    return BusMessage(
        subject=f"agentic.audit.{token(project)}.{decision.kind}",
        payload=json.dumps(facts, separators=(",", ":")).encode("ascii"),
        # Headers allow only ASCII. Tokens hold no colon, so two projects cannot share an id.
        message_id=f"{token(project)}:{quote(decision.id, errors='surrogatepass')}",
    )


def published_decision(message: StoredMessage) -> PublishedDecision:
    """Read a message of :func:`decision_message`.

    Raises:
        ValueError: The message is not a decision.
    """
    facts = json.loads(message.payload)
    project = facts.pop("project", None) if isinstance(facts, dict) else None
    if not isinstance(project, str):
        raise ValueError(f"a decision without project on {message.subject}")  # noqa: TRY004 - one error for all
    decision = Decision.model_validate(facts)
    return PublishedDecision(stream_sequence=message.sequence, project=project, decision=decision)
