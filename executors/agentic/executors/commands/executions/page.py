"""The output of ``agentic executions show`` for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic.core.cli import console
from agentic.core.ids import SHORT_CHARS
from agentic.core.terminal import harmless
from agentic.executors.commands.shared.failures import failures_of, print_failures
from agentic.executors.commands.shared.proxies import print_proxies
from agentic.executors.commands.shared.statuses import STATUS_STYLES

if TYPE_CHECKING:
    from agentic.core.http.exits.uses import ProxyUse
    from agentic.executors.commands.runs.steering import Desk
    from agentic.executors.reports.facts import FailureFacts, PageCounts
    from agentic.mappers import AgentModel, ExecutionModel

SHOWN_WARNINGS = 10

_WHAT_RAN = (
    "id",
    "agent",
    "state",
    "reason",
    "error",
    "rows",
    "pages",
    "reread",
    "failed",
    "attempts",
    "supersteps",
    "worker",
)
_TIMES = ("created_at", "started_at", "finished_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPage:
    """An execution in tables.

    Attributes:
        row: The execution.
        result: Names and values of its result that are not shown elsewhere.
        failures: Failures by class.
        proxies: Requests through each of several proxies.
        warnings: Warnings about parts of the results.
        next_commands: (command, its effect).
    """

    row: Mapping[str, object]
    result: Mapping[str, object]
    failures: tuple[FailureFacts, ...]
    proxies: Sequence[ProxyUse]
    warnings: tuple[str, ...]
    next_commands: tuple[tuple[str, str], ...]

    def print(self) -> None:
        """Print it on standard output."""
        self._print_facts()
        if self.failures:
            print_failures(self.failures)
        print_proxies(self.proxies)
        self._print_warnings()
        if self.next_commands:
            console.print("Next", style="bold")
            for command, purpose in self.next_commands:
                console.print(f"  {command}", markup=False, highlight=False, soft_wrap=True)
                console.print(f"      {purpose}", style="dim", markup=False, highlight=False)

    def _print_facts(self) -> None:
        for name in (*_WHAT_RAN, *_TIMES):
            is_said = name == "error" and self.row.get("reason") == self.row.get("error")
            if (value := self.row.get(name)) not in (None, "") and not is_said:
                is_status = name in {"state", "reason"}
                style = STATUS_STYLES.get(str(self.row["status"])) if is_status else None
                label = name.removesuffix("_at")
                line = harmless(f"{label:>10}  {value}")
                console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)
        for name, value in self.result.items():
            console.print(harmless(f"{name:>10}  {value}"), markup=False, highlight=False, soft_wrap=True)
        console.print()

    def _print_warnings(self) -> None:
        for warning in self.warnings[:SHOWN_WARNINGS]:
            line = harmless(f"warning: {warning}")
            console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)
        if (more := len(self.warnings) - SHOWN_WARNINGS) > 0:
            console.print(f"... and {more} more warnings, see --json", style="yellow", highlight=False)
        if self.warnings:
            console.print()


def execution_page(
    desk: Desk,
    execution: ExecutionModel,
    agent: AgentModel,
    row: Mapping[str, object],
    proxies: Sequence[ProxyUse],
) -> ExecutionPage:
    """Return the page of an execution.

    Args:
        desk: Reads it.
        execution: The execution.
        agent: Its agent, whose secrets are masked.
        row: The execution as a row, with its ``result``.
        proxies: Its requests through each of several proxies.
    """
    from agentic.executors.reports.crawls import CrawlReader
    from agentic.executors.reports.masking import Shown

    shown = Shown.of(agent)
    with desk.database.reading() as session:
        crawl = CrawlReader(session, execution, shown)
        result = row.get("result")
        pages, failures = crawl.counts(), failures_of(crawl, result)
    return ExecutionPage(
        row={
            **row,
            "rows": _rows_text(row),
            "failed": _failed_text(row, pages),
            "pages": _pages_text(pages),
            "reread": "" if pages is None else pages.reread_text,
        },
        result=_plain(result if isinstance(result, Mapping) else {}),
        failures=failures,
        proxies=proxies,
        warnings=tuple(
            shown.text(warning) for warning in execution.warnings if warning not in (execution.reason or "")
        ),
        next_commands=tuple(_next(execution, agent, pages, has_rows=_rows_text(row) != "none")),
    )


def _next(
    execution: ExecutionModel, agent: AgentModel, pages: PageCounts | None, *, has_rows: bool
) -> Iterator[tuple[str, str]]:
    short = execution.id[:SHORT_CHARS]
    has_failed_pages = pages is not None and pages.failed > pages.excluded
    if pages is not None and pages.failed:
        yield f"agentic executions failures {short}", "list all failed pages by class"
    if execution.status in {"failed", "cancelled"} and execution.outcome is None:
        yield f"agentic executions retry {short}", "continue where it stopped"
    elif has_failed_pages and execution.finished_at is not None:
        yield f"agentic executions retry {short} --failed", "fetch the failed pages again"
    elif execution.outcome is not None and execution.status != "succeeded":
        yield f"agentic run {agent.agent_name}", "run the agent again after fixing it"
    if execution.status in {"queued", "running"}:
        yield f"agentic executions watch {short}", "watch it"
    yield f"agentic executions report {short} --open", "read the full report in a browser"
    if has_rows:
        yield f"agentic executions export {short} --out rows.csv", "write its rows to a file"


def _rows_text(row: Mapping[str, object]) -> str:
    names = ("inserted", "updated", "unchanged", "rejected")
    return ", ".join(f"{row[name]} {name}" for name in names if row[name]) or "none"


def _failed_text(row: Mapping[str, object], pages: PageCounts | None) -> str:
    """Return the failures that are not pages."""
    count = row["failed"]
    others = (count if isinstance(count, int) else 0) - (pages.failed - pages.excluded if pages else 0)
    return f"{others:,} items or steps" if others > 0 else ""


def _pages_text(pages: PageCounts | None) -> str:
    if pages is None:
        return ""
    parts = {
        "fetched": pages.done,
        "failed": pages.failed - pages.excluded,
        "disallowed by robots.txt": pages.excluded,
        "not fetched": pages.left,
    }
    return ", ".join(f"{count:,} {name}" for name, count in parts.items() if count)


def _plain(result: Mapping[str, object]) -> dict[str, object]:
    """Return the plain values of a platform's result; a pipeline's result is shown elsewhere."""
    if "pipeline" in result:
        return {}
    return {name: value for name, value in result.items() if isinstance(value, (str, int, float))}
