"""Gathers the facts of a report from one state of the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from agentic.core.hooks import Platform, get_registry
from agentic.core.http.exits.uses import in_list_order
from agentic.core.pipeline import PipelineSpec
from agentic.core.types import JSONValue
from agentic.executors.agents.factory import ExecutorFactory
from agentic.executors.agents.pipeline import PipelineAgentExecutor
from agentic.executors.agents.workflows import flow_name
from agentic.executors.errors import AgentConfigError
from agentic.executors.exports.rows import export_tables, read_records
from agentic.executors.reports.changes import ChangeReport, compare_crawls, earlier_crawl
from agentic.executors.reports.crawls import EXAMPLES, CrawlReader
from agentic.executors.reports.facts import (
    DeadLetterFacts,
    FailureExample,
    FailureFacts,
    Header,
    RunReport,
    TableSample,
)
from agentic.executors.reports.masking import Shown, masked_changes
from agentic.executors.reports.pictures import picture
from agentic.executors.reports.times import now_utc, page_timeline, run_ids, step_times, workers
from agentic.mappers import AgentModel, AgentResultModel, Database, ExecutionModel, find_execution
from agentic.mappers.catalog.execution_counts import counts_so_far, proxies_so_far
from agentic.mappers.catalog.pipelines import digest_of
from agentic.mappers.tables.core import DeadLetterModel, PipelineModel
from agentic.mappers.tables.ledger import RunModel

SAMPLE_ROWS = 10
LETTERS = 20
LISTED_CHANGES = 30


def gather_report(database: Database, execution: ExecutionModel, agent: AgentModel) -> RunReport:
    """Return the report of an execution, ended or not; secrets of its agent are masked.

    Args:
        database: Holds it.
        execution: The execution.
        agent: Its agent.

    Raises:
        DuplicateNameError: Two plugins claim its platform.
    """
    with database.reading() as session:
        newest = find_execution(session, execution.project_id, execution.id)
        return _Gathering(session, newest, agent, Shown.of(agent), _pipeline(agent)).report()


@dataclass(frozen=True, slots=True)
class _Gathering:
    session: Session
    execution: ExecutionModel
    agent: AgentModel
    shown: Shown
    spec: PipelineSpec | None

    def report(self) -> RunReport:
        crawl = CrawlReader(self.session, self.execution, self.shown)
        platform = get_registry().platforms.get(self.agent.agent_platform)
        pages, (hosts, host_count) = crawl.counts(), crawl.hosts()
        runs = run_ids(self.session, self.execution)
        letters, letter_count = self._letters()
        timeline = None
        if platform is not None and pages is not None:
            timeline = page_timeline(self.session, platform, self.execution, pages.done)
        return RunReport(
            header=self._header(runs),
            rows=_counts(counts_so_far(self.session, self.execution.project_id, [self.execution])),
            pages=pages,
            timeline=timeline,
            failures=tuple(self._failures(crawl)),
            hosts=tuple(hosts),
            host_count=host_count,
            proxies=tuple(in_list_order(proxies_so_far(self.session, self.execution))),
            strategies=crawl.strategies(),
            steps=tuple(step_times(self.session, self.execution, runs)),
            tables=tuple(self._tables(platform)),
            letters=tuple(letters),
            letter_count=letter_count,
            warnings=tuple(map(self.shown.text, self.execution.warnings)),
            changes=self._changes() if pages is not None and pages.done else None,
            graph=picture(self.session, self.spec, self.execution, runs) if self.spec else "",
        )

    def _header(self, runs: Sequence[str]) -> Header:
        execution, spec = self.execution, self.spec
        digest = digest_of(spec) if spec else None
        return Header(
            execution_id=execution.id,
            agent=self.agent.agent_name,
            platform=self.agent.agent_platform,
            project=self.agent.project.name,
            pipeline=spec.name if spec else None,
            description=spec.description if spec else "",
            digest=digest,
            version=self._version(digest),
            is_changed=self._is_changed(),
            status=str(execution.status),
            error=self.shown.text(execution.error) if execution.error else None,
            reason=self.shown.text(execution.reason) if execution.reason else None,
            attempts=execution.attempts,
            workers=tuple(workers(self.session, execution, runs) or filter(None, [execution.worker])),
            superstep_count=execution.superstep_count,
            event_count=execution.event_count,
            created_at=execution.created_at,
            started_at=execution.started_at,
            finished_at=execution.finished_at,
            made_at=now_utc(),
        )

    def _version(self, digest: str | None) -> int | None:
        query = select(func.max(PipelineModel.version)).where(
            PipelineModel.project_id == self.execution.project_id, PipelineModel.digest == digest
        )
        return None if digest is None else self.session.scalar(query)

    def _is_changed(self) -> bool:
        """Whether the agent's config has changed since the execution began."""
        run = self.session.get(RunModel, (self.execution.project_id, self.execution.id))
        return run is not None and run.workflow != flow_name(self.agent)

    def _failures(self, crawl: CrawlReader) -> list[FailureFacts]:
        """Return the failures of pages, and of other steps, as counted in the result."""
        of_pages = crawl.failures()
        known = {facts.failure_class for facts in of_pages}
        others = [facts for facts in self._result_failures() if facts.failure_class not in known]
        return sorted([*of_pages, *others], key=lambda facts: (-facts.count, facts.failure_class))

    def _result_failures(self) -> Iterable[FailureFacts]:
        query = select(AgentResultModel.summary).where(
            AgentResultModel.project_id == self.execution.project_id,
            AgentResultModel.execution_id == self.execution.id,
        )
        failures = (self.session.scalar(query) or {}).get("failures")
        for name, facts in failures.items() if isinstance(failures, dict) else ():
            if isinstance(facts, dict) and isinstance(count := facts.get("count"), int):
                said = facts.get("examples")
                examples = [self.shown.text(str(one)) for one in said] if isinstance(said, list) else []
                shown = [FailureExample(subject="", message=text) for text in examples[:EXAMPLES]]
                yield FailureFacts(failure_class=name, count=count, examples=tuple(shown))

    def _letters(self) -> tuple[list[DeadLetterFacts], int]:
        own = (
            DeadLetterModel.project_id == self.execution.project_id,
            DeadLetterModel.execution_id == self.execution.id,
        )
        count = self.session.scalar(select(func.count()).select_from(DeadLetterModel).where(*own)) or 0
        query = select(DeadLetterModel).where(*own).order_by(DeadLetterModel.created_at)
        found = self.session.scalars(query.limit(LETTERS)) if count else ()
        return [self._letter(letter) for letter in found], count

    def _letter(self, letter: DeadLetterModel) -> DeadLetterFacts:
        return DeadLetterFacts(
            step=letter.step,
            item=self.shown.text(str(letter.item)),
            failure_class=letter.failure_class,
            message=self.shown.text(letter.message),
        )

    def _tables(self, platform: Platform | None) -> Iterable[TableSample]:
        for table in export_tables(platform) if platform else ():
            model = table.model
            own = (model.project_id == self.execution.project_id, model.execution_id == self.execution.id)
            total = self.session.scalar(select(func.count()).select_from(model).where(*own)) or 0
            records = read_records(self.session, table, self.execution)
            rows = [self._row(record) for record, _ in zip(records, range(SAMPLE_ROWS), strict=False)]
            columns = dict.fromkeys(name for row in rows for name in row)
            if rows:
                yield TableSample(name=table.name, columns=tuple(columns), rows=tuple(rows), total=total)

    def _row(self, record: Mapping[str, object]) -> dict[str, object]:
        return {name: self.shown.value(value) for name, value in record.items()}

    def _changes(self) -> ChangeReport | None:
        earlier = earlier_crawl(self.session, self.execution)
        if earlier is None:
            return None
        return masked_changes(
            compare_crawls(self.session, self.execution, earlier, listed=LISTED_CHANGES), self.shown
        )


def _pipeline(agent: AgentModel) -> PipelineSpec | None:
    """Return the pipeline of an agent with its current config, if it is one and can be used.

    Raises:
        DuplicateNameError: Two plugins claim its platform, so that its tables are ambiguous.
    """
    if not get_registry().platforms.is_taken(agent.agent_platform):
        return None
    executor = ExecutorFactory.create(agent, execution_id="")
    try:
        return executor.pipeline() if isinstance(executor, PipelineAgentExecutor) else None
    except AgentConfigError:
        return None


def _counts(found: Mapping[str, Mapping[str, JSONValue]]) -> dict[str, int]:
    pairs = (pair for counts in found.values() for pair in counts.items())
    return {name: count for name, count in pairs if isinstance(count, int)}
