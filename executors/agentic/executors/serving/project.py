"""The project that a server shows to its applications."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentic.core.bus import Bus
    from agentic.core.settings import Settings
    from agentic.executors.durable.runs.service import RunService
    from agentic.executors.serving.agents import ServedAgents
    from agentic.executors.serving.sse import EventStreams
    from agentic.mappers import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedProject:
    """A project behind a server. Applications show nothing of other projects.

    Attributes:
        name: Of the project.
        id: Of the project, for queries.
        database: Holds its data; calls block, so make them off the event loop (``agentic.core.threads``).
        agents: Its agents that take messages.
        runs: Accepts durable runs. They work in this process or on workers, by ``AGENTIC_DISPATCHER``.
        bus: Has the events of its runs, the text of agents among them.
        streams: The open streams of the server.
        settings: Of this process.
        url: Of the server, without a slash at the end; an application is at ``{url}/{its name}``.
    """

    name: str
    id: str
    database: Database
    agents: ServedAgents
    runs: RunService
    bus: Bus
    streams: EventStreams
    settings: Settings
    url: str
