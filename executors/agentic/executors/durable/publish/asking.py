"""Asks the open questions of durable runs on the bus, and gives them the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from sqlalchemy import select

from agentic.core.bus import Bus, KeyLease, Question, ask
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue
from agentic.executors.durable.worker.process import RunProcess
from agentic.executors.durable.worker.process_names import process_name
from agentic.mappers import Database, ProjectModel
from agentic.mappers.runs.requests import OpenRequest, open_requests

log = get_logger(__name__)

LEASES = "AGENTIC_LEASES"

LOOK_S = 2.0
"""Delay from a question to its message on the bus."""

MAX_ASKED = 1_000
"""Maximum number of questions on the bus; the others wait until one of them is answered."""

UNNAMED = "somebody on the bus"
"""Name of an anonymous responder."""

_LEASE_S = 10
_LAST_RETRY_S = 10.0


class Asker:
    """Asks the open requests of every project on the bus until they are answered.

    Of several processes, one asks for a project: the holder of its lease. If two ask for a moment, or an
    answer comes another way, still one answer counts: the ledger accepts no second one.

    Args:
        database: Holds the ledgers.
        runs: The runs of this process.
        bus_of: Returns the bus for the questions of a project.
    """

    def __init__(self, database: Database, runs: RunProcess, bus_of: Callable[[str], Bus]) -> None:
        self._database = database
        self._runs = runs
        self._bus_of = bus_of
        self._leases: dict[str, KeyLease] = {}
        self._asked: dict[str, asyncio.Task[None]] = {}

    async def keep_asking(self) -> None:
        """Ask open questions until cancelled; report an unavailable bus once, and keep trying."""
        retry_s = 0.0
        try:
            while True:
                try:
                    await self.look()
                except Exception as exc:  # any error of a client library: the questions stay open
                    if not retry_s:
                        log.warning("requests.waiting", error=str(exc) or type(exc).__name__)
                    retry_s = min(2 * retry_s or LOOK_S, _LAST_RETRY_S)
                else:
                    retry_s = 0.0
                await asyncio.sleep(retry_s or LOOK_S)
        finally:
            self._keep({})

    async def look(self) -> None:
        """Ask new questions; withdraw ones that are answered, expired, or left to another process."""
        found = await asyncio.to_thread(self._open)
        names = {request.project_id: project for project, request in found}
        ours = {key for key, name in names.items() if await self._is_ours(name)}
        wanted = {request.id: (project, request) for project, request in found if request.project_id in ours}
        self._keep(wanted)
        for project, request in list(wanted.values())[:MAX_ASKED]:
            if request.id not in self._asked:
                self._asked[request.id] = asyncio.create_task(self._ask(project, request), name="ask")

    def _open(self) -> list[tuple[str, OpenRequest]]:
        with self._database.reading() as session:
            names = dict(session.execute(select(ProjectModel.id, ProjectModel.name)).tuples().all())
            return [(names[request.project_id], request) for request in open_requests(session)]

    async def _is_ours(self, project: str) -> bool:
        if project not in self._leases:
            bucket = self._bus_of(project).bucket(LEASES, project=project)
            self._leases[project] = KeyLease(bucket, "asker", process_name(), ttl_s=_LEASE_S)
        return await self._leases[project].hold()

    def _keep(self, wanted: Mapping[str, object]) -> None:
        """Stop asking all other questions, and drop ended ones."""
        for request_id, task in list(self._asked.items()):
            if request_id not in wanted:
                task.cancel()
            if task.done() or request_id not in wanted:
                del self._asked[request_id]

    async def _ask(self, project: str, request: OpenRequest) -> None:
        question = Question(
            project=project,
            run=request.run_id,
            request=request.id,
            path=request.path,
            question=request.question,
            response_type=request.response_type,
            deadline=request.deadline,
        )
        try:
            await ask(self._bus_of(project), question, partial(self._take, request))
        except Exception as exc:  # any error of a client library: it is asked again at the next look
            log.info("request.unasked", request=request.id, reason=str(exc) or type(exc).__name__)

    async def _take(self, request: OpenRequest, answer: JSONValue, answered_by: str) -> None:
        handle = self._runs.service(request.project_id).handle(request.run_id)
        await handle.answer({request.id: answer}, answered_by or UNNAMED)
        log.info("request.answered", request=request.id, answered_by=answered_by)
