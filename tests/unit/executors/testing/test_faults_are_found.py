"""What breaks a contract is found by it: each fault by the test that is there for it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import String, delete
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.actors import Actor, ActorContext, ActorError
from agentic.core.graph import Executor, Workflow, WorkflowBuilder, handler
from agentic.core.hooks import Platform, get_registry
from agentic.core.http import Fetcher, HttpPolicy
from agentic.core.types import JSONValue
from agentic.executors import BaseAgentExecutor
from agentic.executors.testing import (
    ActorContract,
    ExecutorContract,
    Failing,
    MapperContract,
    MapperSamples,
    PlatformContract,
    RunAgent,
    RunWorkflow,
)
from agentic.executors.testing.acting import Silent
from agentic.executors.testing.executor_contract import kept
from agentic.executors.testing.mapping import MappingRoom
from agentic.executors.testing.watching import Watch
from agentic.mappers import Base, Database, ResultMapper, SourceColumns

Results = Mapping[str, Any]
PLATFORM = "faulty"


class ThingModel(SourceColumns, Base):
    __tablename__ = "faulty_things"

    id: Mapped[str] = mapped_column(String(100), primary_key=True)
    name: Mapped[str | None]


class ThingSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: int = 1


class RightMapper(ResultMapper):
    def save_results(self, results: Results) -> bool:
        if not self.save_agent_result(results):
            return False
        self.save_rows(ThingModel, self.rows_of(results))
        return True

    def rows_of(self, results: Results) -> list[dict[str, object]]:
        return [{"id": thing.get("id"), "name": thing.get("name")} for thing in results["things"]]


class ErasingMapper(RightMapper):
    def rows_of(self, results: Results) -> list[dict[str, object]]:
        return [{**row, "name": row["name"] or ""} for row in super().rows_of(results)]


class DoublingMapper(RightMapper):
    def rows_of(self, results: Results) -> list[dict[str, object]]:
        return [{**row, "id": f"{row['id']} {self.execution_id}"} for row in super().rows_of(results)]


class StrictMapper(RightMapper):
    def rows_of(self, results: Results) -> list[dict[str, object]]:
        return [{"id": thing["id"], "name": thing.get("name")} for thing in results["things"]]


class SilentMapper(RightMapper):
    def rows_of(self, results: Results) -> list[dict[str, object]]:
        return [row for row in super().rows_of(results) if row["id"]]


class HastyMapper(RightMapper):
    def save_results(self, results: Results) -> bool:
        self.save_rows(ThingModel, self.rows_of(results) if "things" in results else [])
        return self.save_agent_result(results)


class SweepingMapper(RightMapper):
    def save_results(self, results: Results) -> bool:
        self.db_session.execute(delete(ThingModel))
        return super().save_results(results)


class TidyingMapper(RightMapper):
    """Takes what a result does not mention for gone."""

    def save_results(self, results: Results) -> bool:
        if not super().save_results(results):
            return False
        named = [thing.get("id") for thing in results["things"]]
        gone = (ThingModel.project_id == self.agent.project_id, ThingModel.id.not_in(named))
        self.db_session.execute(delete(ThingModel).where(*gone))
        return True


class EscapingMapper(RightMapper):
    """Ends the transaction that it was lent."""

    def save_results(self, results: Results) -> bool:
        is_saved = super().save_results(results)
        self.db_session.commit()
        cast(Any, self.db_session.get_bind()).commit()
        return is_saved


class WholeMapper(RightMapper):
    """Stores what the short result is made of without looking at it."""

    def save_agent_result(self, results: Results) -> bool:
        is_good = super().save_agent_result(results)
        self.warnings.clear()
        return is_good


ONE: dict[str, object] = {"id": "1", "name": "One"}
SAMPLES = MapperSamples(
    results={"things": [ONE, {"id": "2"}]},
    row_count=2,
    shorter={"things": [{"id": "1"}, {"id": "2"}]},
    with_a_bad_one={"things": [ONE, {"name": "no id"}, {"id": "2"}]},
    with_no_json={"things": [ONE, {"id": "2"}], "took_s": float("nan")},
)


class ThingMapper(MapperContract):
    platform = PLATFORM
    samples = SAMPLES


class RightExecutor(BaseAgentExecutor):
    async def execute_agent(self, state: dict[str, object]) -> dict[str, object]:
        await asyncio.sleep(0)
        return dict(SAMPLES.results)


class CarelessExecutor(RightExecutor):
    def validate(self) -> None:
        pass

    def create_initial_state(self) -> dict[str, object]:
        return {}


class PathExecutor(RightExecutor):
    def create_initial_state(self) -> dict[str, object]:
        return {"path": Path("things.json")}


class OpenExecutor(RightExecutor):
    async def execute_agent(self, state: dict[str, object]) -> dict[str, object]:
        socket.socket()
        return await super().execute_agent(state)


class OddExecutor(RightExecutor):
    def save_results(self, results: dict[str, object]) -> bool:
        return super().save_results({**results, "client": object()})

    async def execute_agent(self, state: dict[str, object]) -> dict[str, object]:
        return {**await super().execute_agent(state), "took_s": float("nan")}


class ThingPlatform(PlatformContract):
    platform = PLATFORM
    model = ThingModel
    row_count = 2


@pytest.fixture
def install(agentic_database: Database) -> Iterator[Callable[..., None]]:
    """Make a platform of an executor and a mapper."""
    get_registry.cache_clear()
    Base.metadata.tables[ThingModel.__tablename__].create(agentic_database.engine)

    def install(executor: type[BaseAgentExecutor], mapper: type[ResultMapper]) -> None:
        made = Platform(
            name=PLATFORM, executor=executor, mapper=mapper, settings=ThingSettings, models=[ThingModel]
        )
        get_registry().add_platform(made)

    yield install
    get_registry.cache_clear()


def test_a_mapper_that_is_right_keeps_the_contract(
    install: Callable[..., None], agentic_database: Database
) -> None:
    install(RightExecutor, RightMapper)
    room = MappingRoom(agentic_database, PLATFORM, {})
    ThingMapper().test_the_same_results_again_leave_the_same_rows(room)


@pytest.mark.parametrize(
    ("mapper", "test"),
    [
        (ErasingMapper, ThingMapper.test_what_a_later_result_leaves_out_is_not_erased),
        (DoublingMapper, ThingMapper.test_the_same_results_again_leave_the_same_rows),
        (StrictMapper, ThingMapper.test_a_bad_one_is_a_warning_and_the_others_are_stored),
        (SilentMapper, ThingMapper.test_a_bad_one_is_a_warning_and_the_others_are_stored),
        (WholeMapper, ThingMapper.test_what_is_no_json_is_removed_with_a_warning),
        (TidyingMapper, ThingMapper.test_what_a_later_result_does_not_mention_stays),
        (SweepingMapper, ThingMapper.test_rows_belong_to_the_project_of_the_agent_and_no_other_is_touched),
        (EscapingMapper, ThingMapper.test_its_rows_are_undone_with_the_transaction_around_it),
    ],
)
def test_a_fault_of_a_mapper_is_found(
    install: Callable[..., None],
    agentic_database: Database,
    mapper: type[ResultMapper],
    test: Callable[[MapperContract, MappingRoom], None],
) -> None:
    install(RightExecutor, mapper)
    with pytest.raises((AssertionError, KeyError)):
        test(ThingMapper(), MappingRoom(agentic_database, PLATFORM, {}))


def test_rows_that_are_stored_with_an_error_are_found(
    install: Callable[..., None], agentic_database: Database
) -> None:
    install(RightExecutor, HastyMapper)
    room = MappingRoom(agentic_database, PLATFORM, {})
    with pytest.raises(AssertionError):
        ThingMapper().test_of_a_failure_only_the_error_is_stored(room, has_more=True)


Find = Callable[[PlatformContract, RunAgent, Watch, Database], None]


@pytest.mark.parametrize(
    ("executor", "find"),
    [
        (
            CarelessExecutor,
            lambda it, run, watch, _: it.test_nothing_is_begun_for_an_agent_that_is_not_configured_rightly(
                {}, run, watch
            ),
        ),
        (
            PathExecutor,
            lambda it, run, _, database: it.test_what_it_starts_from_is_json_without_a_secret(
                {}, run, database
            ),
        ),
        (OddExecutor, lambda it, run, watch, _: it.test_its_results_are_json({}, run, watch)),
        (
            OpenExecutor,
            lambda it, run, watch, _: it.test_what_it_opens_is_closed_when_it({}, run, watch, "succeeds"),
        ),
    ],
    ids=["careless", "path", "odd", "open"],
)
def test_a_fault_of_a_platform_executor_is_found(
    install: Callable[..., None],
    run_agent: RunAgent,
    agentic_database: Database,
    monkeypatch: pytest.MonkeyPatch,
    executor: type[BaseAgentExecutor],
    find: Find,
) -> None:
    install(executor, RightMapper)
    with pytest.raises((AssertionError, TypeError)):
        find(ThingPlatform(), run_agent, Watch(executor, monkeypatch), agentic_database)


class NoteInput(BaseModel):
    """What to note."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = ""


class NoteOutput(BaseModel):
    """What was noted."""

    model_config = ConfigDict(frozen=True)

    text: str


class RightActor(Actor[NoteInput, NoteOutput]):
    """Notes."""

    name = "note_of_tests"
    version = "1"
    Input = NoteInput
    Output = NoteOutput
    failure_classes = frozenset({"empty"})

    async def run(self, ctx: ActorContext, given: NoteInput, /) -> NoteOutput:
        if not given.text:
            raise ActorError("there is no text", failure_class="empty")
        return NoteOutput(text=given.text)


class LooseInput(NoteInput):
    """Takes whatever comes."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class LooseActor(RightActor):
    Input = LooseInput


class ForgetfulActor(RightActor):
    """Declares what it never makes."""

    failure_classes = frozenset({"empty", "gone"})


class SecretiveActor(RightActor):
    """Makes what it never declares."""

    failure_classes = frozenset()


class StubbornActor(RightActor):
    """Does not let itself be cancelled."""

    async def run(self, ctx: ActorContext, given: NoteInput, /) -> NoteOutput:
        try:
            await ctx.http.fetch("http://127.0.0.1/")
        except asyncio.CancelledError:
            return NoteOutput(text=given.text)
        return NoteOutput(text="")


class AskingActor(RightActor):
    """Asks a server, and does not say so."""

    async def run(self, ctx: ActorContext, given: NoteInput, /) -> NoteOutput:
        return NoteOutput(text=(await ctx.http.fetch("http://127.0.0.1/")).text)


class HonestActor(AskingActor):
    """Asks a server, and says so."""

    capabilities = frozenset({"network"})


CTX = ActorContext(http=Fetcher(HttpPolicy(allow_private_hosts=("127.0.0.1",), obey_robots=False), Silent()))
NOTE: dict[str, JSONValue] = {"text": "hello"}
EMPTY = {"empty": Failing(given={})}
Try = Callable[[ActorContract], Awaitable[None]]


def contract_of(found: type[Actor]) -> ActorContract:
    return cast(ActorContract, type("NoteContract", (ActorContract,), {"actor": found})())


async def test_an_actor_that_is_right_keeps_the_contract() -> None:
    contract = contract_of(RightActor)
    contract.test_a_word_it_does_not_know_is_refused_by_name()
    await contract.test_its_output_is_what_it_declares(CTX, NOTE)
    await contract.test_each_failure_it_declares_is_one_it_makes(CTX, EMPTY, "empty")
    await contract.test_each_failure_it_makes_is_one_it_declares(CTX, EMPTY)
    await contract.test_an_input_that_does_not_fit_is_a_failure_it_declares(CTX, NOTE)
    await contract.test_whatever_the_network_does_is_a_failure_it_declares(CTX, NOTE)


@pytest.mark.parametrize(
    ("actor", "attempt"),
    [
        (ForgetfulActor, lambda it: it.test_each_failure_it_declares_is_one_it_makes(CTX, EMPTY, "gone")),
        (SecretiveActor, lambda it: it.test_each_failure_it_makes_is_one_it_declares(CTX, EMPTY)),
        (AskingActor, lambda it: it.test_whatever_the_network_does_is_a_failure_it_declares(CTX, NOTE)),
        (
            StubbornActor,
            lambda it: it.test_it_ends_when_it_is_cancelled_while_a_server_is_silent(CTX, NOTE),
        ),
    ],
    ids=["forgetful", "secretive", "asking", "stubborn"],
)
async def test_a_fault_of_an_actor_is_found(actor: type[Actor], attempt: Try) -> None:
    with pytest.raises(AssertionError):
        await attempt(contract_of(actor))


async def test_an_actor_that_asks_servers_declares_by_that_what_they_may_do() -> None:
    await contract_of(HonestActor).test_whatever_the_network_does_is_a_failure_it_declares(CTX, NOTE)


def test_an_actor_that_takes_words_it_does_not_know_is_found() -> None:
    with pytest.raises((AssertionError, KeyError, ValidationError)):
        contract_of(LooseActor).test_a_word_it_does_not_know_is_refused_by_name()


def test_an_actor_that_nobody_brings_is_found() -> None:
    with pytest.raises(AssertionError):
        contract_of(RightActor).test_it_is_found_by_its_name_and_each_alias()


class CountingExecutor(Executor):
    """Keeps in itself what another process would not know."""

    def __init__(self) -> None:
        super().__init__("counting")
        self._count = 0

    @handler
    async def count(self, _: int) -> int:
        self._count += 1
        return self._count


class GreedyExecutor(Executor):
    """Takes anything."""

    def __init__(self) -> None:
        super().__init__("greedy")

    @handler
    async def take(self, message: object) -> object:
        return message


def graph(executor: Executor) -> Workflow:
    return WorkflowBuilder("tested", version="1").set_start(executor).add_edge(executor, kept).build()


async def test_an_executor_that_keeps_its_state_to_itself_is_found(run_workflow: RunWorkflow) -> None:
    contract = ExecutorContract()
    with pytest.raises(AssertionError):
        await contract.test_it_gives_the_same_on_the_engine_and_through_a_durable_run(
            graph(CountingExecutor()), 1, [1], run_workflow
        )


async def test_an_executor_that_takes_anything_is_found(run_workflow: RunWorkflow) -> None:
    with pytest.raises(pytest.fail.Exception):
        await ExecutorContract().test_a_message_it_does_not_declare_is_refused(
            graph(GreedyExecutor()), run_workflow
        )
