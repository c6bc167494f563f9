"""The card of an agent: what other systems read about it. It has no instructions, tools or secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from a2a.types import a2a_pb2 as pb

from agentic.core.agents import Agent
from agentic.plugins.a2a.vocabulary import NATS_BINDING, SEQUENCE
from agentic.plugins.a2a.wire import parsed

PROTOCOL = "1.0"
BINDINGS = ("JSONRPC", "HTTP+JSON")


def card_of(
    agent: Agent[Any],
    *,
    urls: Sequence[tuple[str, str]],
    version: str = "1",
    needs_token: bool = False,
) -> pb.AgentCard:
    """Return the card of an agent.

    Args:
        agent: The agent; callers read its name and description.
        urls: Its addresses: the binding of each, and its URL.
        version: Of the agent.
        needs_token: Whether callers need a bearer token.
    """
    description = agent.description or f"The agent {agent.name}."
    document: dict[str, Any] = {
        "name": agent.name,
        "description": description,
        "version": version,
        "supportedInterfaces": [
            {"url": url, "protocolBinding": binding, "protocolVersion": PROTOCOL} for binding, url in urls
        ],
        "capabilities": {
            "streaming": True,
            "pushNotifications": True,
            "extensions": [
                {
                    "uri": SEQUENCE,
                    "description": "Events have a sequence; SubscribeToTask with the header Last-Event-ID "
                    "continues after it.",
                }
            ],
        },
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [
            {"id": agent.name, "name": agent.name, "description": description, "tags": ["agent"]},
        ],
    }
    if needs_token:
        document["securitySchemes"] = {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
        document["securityRequirements"] = [{"schemes": {"bearer": {"list": []}}}]
    return parsed(document, pb.AgentCard)


def nats_card(agent: Agent[Any], subject: str) -> pb.AgentCard:
    """Return the card of an agent on a bus."""
    return card_of(agent, urls=[(NATS_BINDING, f"nats:{subject}")])
