"""What a run does: read the first page, which says how many there are, and then the others one by one.

Each page is a step of its own: a run that is broken off goes on with the page where it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.graph import Executor, ItemResult, RetryPolicy, Workflow, WorkflowBuilder, executor, handler
from agentic.core.http import FetchError
from agentic.executors.api import ApiAgentExecutor
from agentic.executors.base import AgentWork
from agentic.executors.errors import SourceRefusedError, may_pass

from agentic_plugin_arxiv.client import ArxivClient, failure_in
from agentic_plugin_arxiv.errors import EmptyPageError
from agentic_plugin_arxiv.items import Answer, Found, Page, Search, Slice
from agentic_plugin_arxiv.settings import ArxivSettings

if TYPE_CHECKING:
    from agentic.core.http.failures import Verdict
    from agentic.executors.project_http import ProjectHttp

LONGEST_WAIT_S = 900.0


class ReadFirst(Executor):
    """Sends the slices of a search, the first of them read."""

    def __init__(self, client: ArxivClient, retry: RetryPolicy) -> None:
        super().__init__("read_first", retry=retry)
        self._client = client

    @handler
    async def read(self, search: Search) -> list[Slice]:
        """Read the first page, and say which others there are."""
        first = Slice(search=search, count=min(search.per_page, search.limit))
        page = await _read(self._client, first)
        wanted = min(search.limit, page.total)
        return [
            first.model_copy(update={"count": min(first.count, max(wanted, 1)), "papers": page.papers}),
            *(
                Slice(search=search, start=start, count=min(first.count, wanted - start))
                for start in range(first.count, wanted, first.count)
            ),
        ]


class ReadSlice(Executor):
    """Sends the page of a slice that is not read yet."""

    def __init__(self, client: ArxivClient, retry: RetryPolicy) -> None:
        super().__init__("read_slice", retry=retry)
        self._client = client

    @handler
    async def read(self, wanted: Slice) -> Page | None:
        """Read it, unless it is read."""
        return await _read(self._client, wanted) if wanted.papers is None else None


@executor(id="collect")
def collect(results: list[ItemResult]) -> Found:
    """Put the papers in arXiv's order, and say what is missing."""
    papers: list[Answer] = []
    warnings: list[str] = []
    for result in results:
        wanted = Slice.model_validate(result.item)
        place = f"results {wanted.start + 1} to {wanted.start + wanted.count}"
        if result.error is not None:
            warnings.append(f"{place} were not read: {result.error.message}")
            continue
        read = result.value.papers if isinstance(result.value, Page) else wanted.papers or ()
        papers += read
        if 0 < len(read) < wanted.count:
            warnings.append(f"{place}: arXiv gave {len(read)} of {wanted.count}; run the agent again later")
    return Found(papers=tuple(papers), warnings=tuple(warnings))


def search_workflow(client: ArxivClient, interval_s: float) -> Workflow:
    """Return the graph; it takes a :class:`Search` and yields :class:`Found`.

    Args:
        client: Reads the pages.
        interval_s: Between two requests; a failed one is tried again after as long, and then after longer.
    """
    retry = RetryPolicy(
        max_attempts=5,
        first_delay_s=interval_s,
        backoff=4.0,
        max_delay_s=LONGEST_WAIT_S,
        jitter=0.0,
        retry_on=(FetchError, EmptyPageError),
    )
    first = ReadFirst(client, retry)
    return (
        WorkflowBuilder("arxiv", version="1")
        .set_start(first)
        .add_map_edge(first, ReadSlice(client, retry), collect, max_parallel=1)
        .build()
    )


class ArxivExecutor(ApiAgentExecutor):
    """Reads the results of a search; config: :class:`ArxivSettings`."""

    def settings(self) -> ArxivSettings:
        """Return the agent's config."""
        return self.read_config(ArxivSettings)

    def verdict(self) -> Verdict:
        """Return arXiv's own rule."""
        return failure_in

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, and what it searches for."""
        return {
            "agent_name": self.agent.agent_name,
            "goals": self.goals,
            "search": self.settings().search().model_dump(mode="json"),
        }

    def graph(self, http: ProjectHttp) -> AgentWork:
        """Return the graph; ``papers`` are stored, ``warnings`` are told."""
        settings = self.settings()
        client = ArxivClient(settings.base_url, http.fetcher)
        return AgentWork(
            workflow=search_workflow(client, settings.interval_s),
            message_of=lambda state: Search.model_validate(state["search"]),
            results_of=lambda found: Found.model_dump(found, mode="json"),
        )


async def _read(client: ArxivClient, wanted: Slice) -> Page:
    """Return a page.

    Raises:
        FetchError: It may well work a little later.
        EmptyPageError: So may this.
        SourceRefusedError: It will not.
    """
    try:
        return await client.read(wanted)
    except FetchError as exc:
        if may_pass(exc):
            raise
        raise SourceRefusedError(exc, "; correct the agent's query" if exc.status == 400 else "") from exc
