"""Platform executors whose agents are pipelines."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from agentic.core.types import JSONValue, RunId
from agentic.executors.base import AgentWork, BaseAgentExecutor
from agentic.executors.errors import ExecutionError

if TYPE_CHECKING:  # the engine and sqlalchemy are loaded when an agent runs, not when a class is defined
    from sqlalchemy import Select
    from sqlalchemy.orm import Session

    from agentic.core.actors import Page
    from agentic.core.http.exits.uses import ProxyUse
    from agentic.core.pipeline import CrawledPage, FailedPage, Judgement, PipelineResult, PipelineSpec
    from agentic.core.pipeline.drift.profiles import KindProfile
    from agentic.core.types import SaveCounts
    from agentic.mappers import AgentModel, Database, ExecutionModel
    from agentic.mappers.crawl.frontier import SqlCrawlStore

_MAX_FRONTIERS = 64


class PipelineAgentExecutor(BaseAgentExecutor):
    """Runs an agent that is a pipeline; a platform defines which one, and how its pages become rows.

    A crawl belongs to the execution: a new execution crawls from the start, a retried one continues where
    it was. Pages are stored during the crawl, all else at the end by ``save_results``.
    """

    _result: PipelineResult | None = None

    @abstractmethod
    def pipeline(self) -> PipelineSpec:
        """Return the agent's pipeline, checked against the installed actors."""

    @abstractmethod
    def inputs(self) -> Mapping[str, JSONValue]:
        """Return the inputs the agent gives it."""

    def save_pages(self, session: Session, pipeline: str, pages: Sequence[CrawledPage]) -> SaveCounts:  # noqa: ARG002 - for overrides
        """Store pages of a crawl; called off the event loop, in the transaction that marks them done.

        It may end its writes with ``session.commit()`` or ``session.rollback()`` only. A platform whose
        pipelines crawl overrides it.

        Raises:
            ExecutionError: The platform cannot store them.
        """
        raise ExecutionError(
            f"platform {self.agent.agent_platform!r} cannot store the pages that {pipeline!r} crawls; run "
            "it as an agent of the platform 'web'"
        )

    def mark_gone(self, session: Session, pages: Sequence[FailedPage]) -> SaveCounts:  # noqa: ARG002 - for overrides
        """Mark the rows of pages that no longer exist, in the transaction that fails them.

        Called off the event loop, like :meth:`save_pages`. By default nothing is marked.
        """
        from agentic.core.types import SaveCounts

        return SaveCounts()

    def stored_bodies(self) -> Select[str] | None:
        """Return the query for the keys of stored pages that can be read again.

        By default none are stored.
        """
        return None

    def load_page(self, session: Session, key: str) -> Page | None:  # noqa: ARG002 - for overrides
        """Return a stored page as it was when it was fetched; None if it is not stored.

        Called off the event loop. Its ``url`` may be "": the crawl fills in the URL of its own page.
        """
        return None

    def stored_items(
        self,
        session: Session,  # noqa: ARG002 - for overrides
        pipeline: str,  # noqa: ARG002 - for overrides
        urls: Sequence[str],  # noqa: ARG002 - for overrides
    ) -> Mapping[str, Mapping[str, JSONValue]]:
        """Return the stored items of pages by their URLs; pages without one are left out.

        Called off the event loop, to repair a pipeline by its rows. By default none is known.
        """
        return {}

    def newest_items(
        self,
        session: Session,  # noqa: ARG002 - for overrides
        pipeline: str,  # noqa: ARG002 - for overrides
        limit: int,  # noqa: ARG002 - for overrides
    ) -> Sequence[Mapping[str, JSONValue]]:
        """Return up to ``limit`` stored items of a pipeline, those that were seen last first.

        Called off the event loop, like :meth:`stored_items`. By default none is known.
        """
        return ()

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, its pipeline's name, and every input.

        Raises:
            PipelineInputError: The inputs differ from the pipeline's declaration.
        """
        from agentic.core.http.sessions.url_credentials import UrlCredentials
        from agentic.core.pipeline import read_inputs

        spec = self.pipeline()
        kept = UrlCredentials.found_in(
            self.inputs(), {name: one.default for name, one in spec.inputs.items()}
        )
        return {
            "agent_name": self.agent.agent_name,
            "goals": self.goals,
            "pipeline": spec.name,
            "inputs": kept.stripped_data(read_inputs(spec, self.inputs())),
        }

    def work(self, database: Database) -> AgentWork:
        """Return the pipeline; it yields a :class:`~agentic.core.pipeline.PipelineResult` as data."""
        from agentic.core.hooks import get_registry
        from agentic.core.pipeline import PipelineServices, compile_pipeline
        from agentic.core.settings import load_settings
        from agentic.executors.agents.actor_resources import ActorResources
        from agentic.executors.agents.repairing.sql_store import SqlRepairStore

        spec = self.pipeline()
        outside = ActorResources(database, self.agent.project_id, spec.http, load_settings())
        frontiers = _Frontiers(self, database, spec)
        services = PipelineServices(
            frontier=frontiers.of,
            context=outside.context,
            inputs=self.inputs(),
            repairs=lambda run_id: SqlRepairStore(self, database, run_id.partition("/")[0]),
        )
        return AgentWork(
            workflow=compile_pipeline(spec, get_registry().actors, services),
            message_of=lambda state: state["inputs"],
            close=outside.aclose,
        )

    @property
    def route(self) -> str:
        """The route of the agent's work: its platform, with ``.browser`` if it needs one."""
        from agentic.core.hooks import get_registry
        from agentic.core.pipeline import capabilities_of

        needs = capabilities_of(self.pipeline(), get_registry().actors)
        return f"{self.agent.agent_platform}.browser" if "browser" in needs else self.agent.agent_platform

    def save_results(self, results: dict[str, object]) -> bool:
        """Store the result with the platform's mapper, and failed parts as dead letters.

        Each failed page, item or step is a warning.
        """
        from agentic.core.pipeline import PipelineResult
        from agentic.mappers import ExecutionModel
        from agentic.mappers.catalog.dead_letters import store_dead_letters

        is_kept = super().save_results(results)
        execution = self.db_session.get(ExecutionModel, self.execution_id)
        if is_kept and execution is not None:
            result = PipelineResult.model_validate(results)
            store_dead_letters(self.db_session, execution, result)
            self._result = result
            if self.judgement.outcome != "failed":
                self._learn(execution)
        return is_kept

    def _learn(self, execution: ExecutionModel) -> None:
        """Learn from a crawl that has ended well how healthy pages and their fields look."""
        from agentic.core.pipeline.spec.walking import detail_rules
        from agentic.executors.agents.repairing.sql_store import rules_in_effect
        from agentic.mappers.crawl.profiles import learn_profiles

        spec = self.pipeline()
        rules = [*detail_rules(spec.steps)]
        if not rules:
            return
        learn_profiles(self.db_session, execution, rules, rules_in_effect(self.db_session, self.agent, spec))
        from agentic.mappers.crawl.wrappers import learn_wrappers

        learn_wrappers(self.db_session, execution, spec.name)

    @property
    def failed_count(self) -> int:
        """Failed pages of the crawl, items of loops and steps."""
        result = self._result
        if result is None:
            return 0
        return len(result.failed_items) + (result.pages.failed if result.pages else 0)

    @property
    def proxy_uses(self) -> Sequence[ProxyUse]:
        """The requests of the run through each of several proxies."""
        from agentic.core.http.exits.uses import uses_of

        return () if self._result is None else uses_of(use.model_dump() for use in self._result.proxy_uses)

    @property
    def judgement(self) -> Judgement:
        """The verdict on the result, by the limits of the pipeline."""
        from agentic.core.pipeline import Evidence, Judgement, judge

        if self._result is None:
            return Judgement()
        evidence = Evidence(
            spec=self.pipeline(), result=self._result, saved=self.counts, warnings=super().warnings
        )
        return judge(evidence)

    @property
    def warnings(self) -> Sequence[str]:
        """Faults in the results, and missing parts."""
        from agentic.core.pipeline import shortfalls

        if self._result is None:
            return super().warnings
        pages = self._result.pages
        borders = pages.borders if pages is not None else ()
        result = self._result
        return (*borders, *super().warnings, *result.warnings, *shortfalls(result), *result.proxies)

    async def execute_agent(self, state: dict[str, object]) -> NoReturn:
        """Never called, because :meth:`work` returns a graph."""
        raise NotImplementedError


class _Frontiers:
    """The frontiers of the executions of one agent, for this process."""

    def __init__(self, executor: PipelineAgentExecutor, database: Database, spec: PipelineSpec) -> None:
        self._executor = executor
        self._database = database
        self._spec = spec
        self._made: OrderedDict[str, SqlCrawlStore] = OrderedDict()

    def of(self, run_id: RunId) -> SqlCrawlStore:
        """Return the frontier of the execution that a run belongs to."""
        execution_id = run_id.partition("/")[0]
        store = self._made.pop(execution_id, None) or self._make(execution_id)
        self._made[execution_id] = store
        if len(self._made) > _MAX_FRONTIERS:
            self._made.popitem(last=False)
        return store

    def _make(self, execution_id: str) -> SqlCrawlStore:
        from agentic.executors.notifications.noticing import notice_held
        from agentic.mappers.crawl.frontier import SqlCrawlStore

        agent = self._executor.agent
        executor = type(self._executor)(agent, execution_id)
        return SqlCrawlStore(
            self._database,
            project_id=agent.project_id,
            run=execution_id,
            save=partial(_save, executor, self._spec.name),
            mark_gone=executor.mark_gone,
            load=executor.load_page,
            profiles=partial(_load_profiles, agent, self._spec),
            note_held=partial(notice_held, agent=agent, execution_id=execution_id),
        )


def _load_profiles(agent: AgentModel, spec: PipelineSpec, session: Session) -> Mapping[str, KindProfile]:
    from agentic.core.pipeline.spec.walking import detail_rules
    from agentic.executors.agents.repairing.sql_store import rules_in_effect
    from agentic.mappers.crawl.profiles import load_profiles

    rules = [*detail_rules(spec.steps)]
    in_effect = rules_in_effect(session, agent, spec) if rules else ()
    return load_profiles(session, agent.project_id, agent.id, rules, in_effect)


def _save(
    executor: PipelineAgentExecutor, pipeline: str, session: Session, pages: Sequence[CrawledPage]
) -> SaveCounts:
    return executor.save_pages(session, pipeline, pages)
