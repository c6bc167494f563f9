"""Prints the outcome of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from agentic.core.cli import console, print_json, print_sample
from agentic.core.hooks import get_registry
from agentic.core.ids import SHORT_CHARS
from agentic.core.settings import load_settings
from agentic.core.terminal import harmless
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.statuses import STATUS_STYLES
from agentic.executors.errors import ExecutionFailedError

if TYPE_CHECKING:
    from rich.console import Console

    from agentic.core.http.exits.uses import ProxyUse
    from agentic.executors.agents.runner import ExecutionOutcome
    from agentic.executors.commands.executions.stored import StoredRows
    from agentic.executors.exports.exporting import Exported
    from agentic.executors.reports.facts import PageCounts
    from agentic.mappers import AgentModel, Database

SHOWN_ROWS = 10

PARTIAL_EXIT_CODE = 4
"""Exit code of a command whose execution is partial."""


def print_outcome(
    outcome: ExecutionOutcome,
    *,
    agent: AgentModel,
    database: Database,
    as_json: bool,
    where: Console | None = console,
    exported: Exported | None = None,
) -> None:
    """Print the stored data of a run: some of the rows, all counts, and where they are.

    Args:
        outcome: Outcome of the run.
        agent: The agent that ran.
        database: Holds the rows.
        as_json: Print JSON, for scripts.
        where: Console for people; only standard output shows rows. None: nowhere.
        exported: The export to a file, if there was one.

    Raises:
        ExecutionFailedError: It failed.
    """
    if as_json:
        tables = _stored(outcome, agent, database)
        print_json(_as_data(outcome, agent, database, tables) | _export_data(exported))
    elif where is not None:
        tables = _stored(outcome, agent, database) if where is console else []
        print_tables(tables)
        if outcome.failed_count:
            _print_failures(outcome, agent, database, where)
        _print_proxies(outcome, agent, database, where)
        _print_facts(outcome, _facts(outcome, agent, database, exported, tables), where, exported)
    if outcome.error is not None:
        raise ExecutionFailedError(outcome.error)


def _stored(outcome: ExecutionOutcome, agent: AgentModel, database: Database) -> list[StoredRows]:
    from agentic.executors.commands.executions.stored import stored_rows
    from agentic.mappers import find_execution

    with database.reading() as session:
        execution = find_execution(session, agent.project_id, outcome.execution_id)
        platform = get_registry().platforms.get(agent.agent_platform)
        return stored_rows(session, platform, execution, SHOWN_ROWS) if platform else []


def _as_data(
    outcome: ExecutionOutcome, agent: AgentModel, database: Database, tables: list[StoredRows]
) -> dict[str, object]:
    from agentic.executors.commands.shared.proxies import proxy_data

    pages = _pages(outcome, agent, database)
    reread = {} if pages is None else {"pages": pages.reread, "unstored": pages.unstored}
    return {
        **outcome.to_dict(),
        **proxy_data(_proxies(outcome, agent, database)),
        **({"reread": reread} if any(reread.values()) else {}),
        "agent": agent.agent_name,
        "project": agent.project.name,
        "platform": agent.agent_platform,
        "warnings": list(outcome.warnings),
        "database": database.url,
        "tables": {table.table: {"total": table.total, "rows": table.rows} for table in tables},
    }


def print_tables(tables: list[StoredRows]) -> None:
    """Print some rows of each table, with a column for each scraped field."""
    from agentic.executors.commands.executions.stored import samples_for_people

    for table in samples_for_people(tables):
        shown = f"first {len(table.rows)} of {table.total}" if table.total > len(table.rows) else table.total
        print_sample(f"{table.table} ({shown})", table.columns, table.rows)
        if table.empty_fields:
            empty = f"  empty in all rows above: {', '.join(table.empty_fields)}"
            console.print(harmless(empty), style="yellow", markup=False, highlight=False, soft_wrap=True)


def _print_failures(outcome: ExecutionOutcome, agent: AgentModel, database: Database, where: Console) -> None:
    from agentic.executors.commands.shared.failures import failures_of, print_failures
    from agentic.executors.commands.shared.views import result_of
    from agentic.executors.reports.crawls import CrawlReader
    from agentic.executors.reports.masking import Shown
    from agentic.mappers import find_execution

    with database.reading() as session:
        execution = find_execution(session, agent.project_id, outcome.execution_id)
        found = failures_of(CrawlReader(session, execution, Shown.of(agent)), result_of(session, execution))
    if found:
        print_failures(found, where)


def _print_proxies(outcome: ExecutionOutcome, agent: AgentModel, database: Database, where: Console) -> None:
    from agentic.executors.commands.shared.proxies import print_proxies

    print_proxies(_proxies(outcome, agent, database), where)


def _proxies(outcome: ExecutionOutcome, agent: AgentModel, database: Database) -> Sequence[ProxyUse]:
    from agentic.mappers import find_execution
    from agentic.mappers.catalog.execution_counts import proxies_so_far

    with database.reading() as session:
        return proxies_so_far(session, find_execution(session, agent.project_id, outcome.execution_id))


def _export_data(exported: Exported | None) -> dict[str, object]:
    if exported is None:
        return {}
    facts = {"table": exported.table, "rows": exported.row_count, "warnings": list(exported.warnings)}
    return {"exported": facts}


def _facts(
    outcome: ExecutionOutcome,
    agent: AgentModel,
    database: Database,
    exported: Exported | None,
    tables: list[StoredRows],
) -> dict[str, str]:
    from agentic.executors.commands.shared.views import counted

    pages = _pages(outcome, agent, database)
    result = _result(outcome, agent, database)
    facts = {
        "agent": f"{agent.agent_name} ({agent.agent_platform}, project {agent.project.name})",
        "execution": f"{outcome.execution_id} {outcome.status}",
        # A failure's reason is the error, which is printed last.
        "reason": outcome.reason or "" if outcome.error is None else "",
        "rows": counted(asdict(outcome.counts)) or no_rows_text(result),
        "reread": "" if pages is None else pages.reread_text,
        "failed": f"{outcome.failed_count:,}" if outcome.failed_count else "",
        "models": models_text(result.get("models")),
        "run": f"{outcome.superstep_count} supersteps, {outcome.event_count} events",
        "database": database.url,
        "files": _files_folder(tables),
        "written": ""
        if exported is None
        else f"{exported.row_count:,} rows of {exported.table} to {exported.target}",
        **_next_commands(outcome, is_exported=exported is not None),
    }
    return {name: fact for name, fact in facts.items() if fact}


def _result(outcome: ExecutionOutcome, agent: AgentModel, database: Database) -> Mapping[str, JSONValue]:
    from agentic.executors.commands.shared.views import result_of
    from agentic.mappers import find_execution

    with database.reading() as session:
        return result_of(session, find_execution(session, agent.project_id, outcome.execution_id))


def no_rows_text(result: Mapping[str, JSONValue]) -> str:
    """Return the text for no rows, with the counts of the result: ``none (1 skipped)``."""
    counts = {name: count for name, count in result.items() if type(count) is int and count}
    # A list is stored as its length, and a version is not a count.
    told = [
        f"{count:,} {name}" for name, count in counts.items() if not name.endswith(("_count", "_version"))
    ]
    return f"none ({', '.join(told)})" if told else "none"


def models_text(use: object) -> str:
    """Return the use of language models in a run as a line, "" without any.

    Args:
        use: ``models`` of the result of a pipeline.
    """
    if not isinstance(use, dict) or "requests" not in use:
        return ""
    requests, cached, cost_usd = use["requests"], use.get("cached", 0), use.get("cost_usd")
    parts = [f"{requests:,} {'request' if requests == 1 else 'requests'}"]
    if cached:
        parts.append(f"{cached:,} kept from earlier ({use.get('cached_share', 0):.0%})")
    if requests:
        parts.append(f"{use.get('input_tokens', 0):,} tokens in, {use.get('output_tokens', 0):,} out")
        parts.append("price not known" if cost_usd is None else f"${cost_usd:.4f}".rstrip("0").rstrip("."))
    return ", ".join(parts)


def _files_folder(tables: list[StoredRows]) -> str:
    from agentic.executors.agents.actor_resources import FILES
    from agentic.executors.commands.executions.stored import folder_of_files

    folder = folder_of_files(tables)
    return "" if folder is None else str(load_settings().home / FILES / folder)


def _pages(outcome: ExecutionOutcome, agent: AgentModel, database: Database) -> PageCounts | None:
    """Return the counts of the pages of the execution's crawl, if there is one."""
    from agentic.executors.reports.crawls import CrawlReader
    from agentic.executors.reports.masking import Shown
    from agentic.mappers import find_execution

    with database.reading() as session:
        execution = find_execution(session, agent.project_id, outcome.execution_id)
        return CrawlReader(session, execution, Shown.of(agent)).counts()


def _next_commands(outcome: ExecutionOutcome, *, is_exported: bool) -> Mapping[str, str]:
    """Return commands that show more, and that write the rows to a file."""
    from agentic.mappers import ExecutionStatus

    short = outcome.execution_id[:SHORT_CHARS]
    counts = outcome.counts
    has_rows = counts.inserted + counts.updated + counts.unchanged > 0
    export = {"export": f"agentic executions export {short} --out rows.csv"}
    return {
        # Here, a run that has not ended waits for a person: there is no other process.
        **({"answer": "agentic requests list"} if outcome.status is ExecutionStatus.RUNNING else {}),
        "more": f"agentic executions show {short}",
        "report": f"agentic executions report {short} --open",
        **(export if has_rows and not is_exported else {}),
    }


def _print_facts(
    outcome: ExecutionOutcome, facts: Mapping[str, str], where: Console, exported: Exported | None
) -> None:
    # The reason is not repeated.
    warnings = [warning for warning in outcome.warnings if warning not in (outcome.reason or "")]
    warnings += () if exported is None else exported.warnings
    for warning in warnings[:SHOWN_ROWS]:
        where.print(
            harmless(f"warning: {warning}"), style="yellow", markup=False, highlight=False, soft_wrap=True
        )
    if (more := len(warnings) - SHOWN_ROWS) > 0:
        where.print(f"... and {more} more warnings", style="yellow", highlight=False)
    for name, fact in facts.items():
        style = STATUS_STYLES.get(outcome.status) if name in {"execution", "reason"} else None
        where.print(
            harmless(f"{name:>10}  {fact}"), style=style, markup=False, highlight=False, soft_wrap=True
        )
