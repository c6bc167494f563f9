"""Reads a file of quotes: a graph of three nodes, run by an agent."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from agentic.core.graph import ItemResult, Workflow, WorkflowBuilder, executor
from agentic.executors import BaseAgentExecutor


class QuotesSettings(BaseModel):
    """The config of an agent; anything else is refused when the agent is added."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path


class Quote(BaseModel):
    """One quote of the file."""

    model_config = ConfigDict(frozen=True)

    id: str
    text: str
    author: str | None = None


@executor(id="read")
def read(path: Path) -> list[object]:
    """Send the entries of the file, whatever they are."""
    match json.loads(path.read_text(encoding="utf-8")):
        case list() as entries:
            return entries
        case _:
            raise ValueError(f"{path} is not a list of quotes; write [...] around them")


@executor(id="parse")
def parse(entry: object) -> Quote:
    """Make a quote of an entry; one that is none fails alone."""
    return Quote.model_validate(entry)


@executor(id="collect")
def collect(results: list[ItemResult]) -> dict[str, object]:
    """Put the quotes and what was wrong with the others into one result."""
    quotes = [result.value.model_dump() for result in results if isinstance(result.value, Quote)]
    warnings = [f"entry {r.index}: {r.error.message}" for r in results if r.error is not None]
    return {"quotes": quotes, "warnings": warnings}


def quotes_workflow() -> Workflow:
    """Return the graph: the file's path in, quotes and warnings out."""
    return WorkflowBuilder("quotes").set_start(read).add_map_edge(read, parse, collect).build()


class QuotesExecutor(BaseAgentExecutor):
    """Runs the agents of this platform."""

    def create_initial_state(self) -> dict[str, object]:
        """Return which file to read."""
        return {"path": str(self.read_config(QuotesSettings).path)}

    async def execute_agent(self, state: dict[str, object]) -> dict[str, object]:
        """Run the graph; its events become part of the execution's."""
        run = await self.run_workflow(quotes_workflow(), Path(str(state["path"])))
        return run.output(dict)
