"""A remote agent as an agent: in threads, in graphs, as a tool."""

from __future__ import annotations

from typing import Any

from agentic.core.agents import (
    Agent,
    AgentInput,
    AgentResponse,
    AgentThread,
    RunOptions,
    ThreadStore,
    UsageLimits,
)
from agentic.core.agents.background.port import BackgroundRuns
from agentic.core.agents.responses import Emit
from agentic.core.bus import Bus
from agentic.plugins.a2a.errors import RemoteAddressError
from agentic.plugins.a2a.remote.addresses import HttpAddress, parse_address
from agentic.plugins.a2a.remote.connecting import Connector
from agentic.plugins.a2a.remote.turns import RemoteSetup, RemoteTurn

TIMEOUT_S = 600.0


class ProxyAgent(Agent[Any]):
    """An agent of another process or another system, reached by A2A.

    It is an agent as others are. Each input is a task of the remote agent. The task's id is in the thread, or
    in the run of a graph, before the answer is waited for: a caller that was killed waits for the same task.
    A message whose acceptance was not noted is sent again under the same id, or found by it. Requests of the
    remote agent are this agent's requests.

    Args:
        id: Its name here.
        remote_url: ``nats:AGENT`` or ``nats:PROJECT/AGENT`` on a bus; or the URL above the agent's card.
        nats: The bus, or the URL of a NATS server; ``AGENTIC_NATS_URL`` if omitted.
        token: Bearer token for an agent behind HTTP. It is sent to the origin of ``remote_url`` only.
        description: Its use; for models that choose among agents.
        output_type: The type of the answer's data; None for text.
        limits: Limits of a turn, by the use that the remote agent reports.
        timeout_s: Seconds to wait for a task, each time.
        store: Where new threads are kept.
        background: Where its background runs work.

    Raises:
        RemoteAddressError: ``remote_url`` is not an address.
    """

    def __init__(  # noqa: PLR0913  # the parts of an agent, most optional
        self,
        id: str,  # noqa: A002  # as of every agent
        remote_url: str,
        nats: Bus | str | None = None,
        *,
        token: str | None = None,
        description: str = "",
        output_type: type[Any] | None = None,
        limits: UsageLimits | None = None,
        timeout_s: float = TIMEOUT_S,
        store: ThreadStore | None = None,
        background: BackgroundRuns | None = None,
    ) -> None:
        address = parse_address(remote_url)
        if token and not isinstance(address, HttpAddress):
            raise RemoteAddressError("a token is for agents behind HTTP; a bus has its own credentials")
        self.name = id
        self.remote_url = remote_url
        self.description = description
        self.store = store
        self.background = background
        self._setup = RemoteSetup(
            name=id, output_type=output_type, limits=limits or UsageLimits(), timeout_s=timeout_s
        )
        self._connector = Connector(id, address, bus=nats, token=token, timeout_s=timeout_s)

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[Any]:
        """Send the input to the remote agent, or wait for its answer; see :class:`Agent`."""
        return await RemoteTurn(self._setup, self._connector, thread, options, emit).run(given)

    async def cancel(self, thread: AgentThread) -> bool:
        """Cancel the remote task of a thread's open turn; False if no task is open.

        The next ``run((), thread)`` ends the turn as stopped.
        """
        return await RemoteTurn.cancel(self._connector, thread)

    def __repr__(self) -> str:
        return f"ProxyAgent({self.name!r}, {self.remote_url!r})"
