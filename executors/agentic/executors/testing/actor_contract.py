"""The contract of every actor; subclass it in an actor's tests."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass

import pytest
from pydantic import BaseModel, ValidationError

from agentic.core.actors import Actor, ActorContext, FromResults, failure_class_of
from agentic.core.actors.failures import failures_of, is_among
from agentic.core.hooks import get_registry
from agentic.core.http import Fetcher, HttpPolicy, open_fetcher
from agentic.core.pipeline.steps.calls import call_until_done
from agentic.core.types import JSONValue
from agentic.executors.testing.acting import Refusing, Silent, alone, outcome_workflow, output_of, without
from agentic.executors.testing.workflows import RunWorkflow

Config = Mapping[str, JSONValue]

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
CAPABILITY = re.compile(r"network|browser|credentials:[a-z][a-z0-9_-]*")
PROMPT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """How to make an actor fail.

    Attributes:
        given: Its input.
        before: Called first, for example to make a server refuse.
        ctx: Replaces the fixture ``ctx``.
    """

    given: Config
    before: Callable[[], object] | None = None
    ctx: ActorContext | None = None


class ActorContract:
    """The contract; its tests are coroutines, so pytest needs ``asyncio_mode = "auto"``.

    The fixture ``given`` must return an input that works, and ``failures`` how to cause each declared failure
    class. The fixture ``ctx`` returns the actor's context: HTTP on loopback and stores in memory, unless an
    override changes it, based on the fixture ``loopback``.

    Attributes:
        actor: The actor.
        volatile: Parts of its output that differ between calls, such as ``"page.fetched_at"``.
    """

    actor: type[Actor]
    volatile: frozenset[str] = frozenset()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Test each failure class separately."""
        if "failure_class" in metafunc.fixturenames:
            metafunc.parametrize("failure_class", sorted(self.actor.failure_classes) or [""])

    @pytest.fixture
    async def loopback(self) -> AsyncIterator[ActorContext]:
        """Provide HTTP on loopback, and stores in memory."""
        policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), obey_robots=False)
        async with open_fetcher(policy) as fetcher:
            yield ActorContext(http=fetcher)

    @pytest.fixture
    def ctx(self, loopback: ActorContext) -> ActorContext:
        """Provide the actor's context; override it if it needs a browser, secrets or a place for files."""
        return loopback

    @pytest.fixture
    def given(self) -> Config:
        """Provide an input that works."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `given`: an input that works")

    @pytest.fixture
    def failures(self) -> Mapping[str, Failing]:
        """Provide a way to cause each failure class."""
        return {}

    def test_it_is_found_by_its_name_and_each_alias(self) -> None:
        known = get_registry().actors
        names = (self.actor.name, *self.actor.aliases)
        assert {name: known.get(name) for name in names} == dict.fromkeys(names, self.actor)

    def test_it_says_what_it_is(self) -> None:
        assert NAME.fullmatch(self.actor.name)
        assert self.actor.version
        assert all(NAME.fullmatch(word) for word in self.actor.failure_classes)
        assert all(CAPABILITY.fullmatch(word) for word in self.actor.capabilities)
        for described in (self.actor, self.actor.Input, self.actor.Output):
            first = (described.__doc__ or "").partition("\n")[0]
            assert first.endswith((".", ":")), (
                f"the docstring of {described.__name__} begins with no sentence"
            )

    def test_editors_can_complete_its_input_and_output(self) -> None:
        taken, given = self.actor.Input.model_json_schema(), self.actor.Output.model_json_schema()
        assert json.dumps([taken, given])
        fields = self.actor.Input.model_fields.items()
        assert set(taken["properties"]) == {field.alias or name for name, field in fields}
        assert given["properties"]

    def test_what_it_takes_and_gives_cannot_be_changed(self) -> None:
        assert self.actor.Input.model_config.get("frozen")
        assert self.actor.Output.model_config.get("frozen")

    def test_a_word_it_does_not_know_is_refused_by_name(self) -> None:
        assert self.actor.Input.model_json_schema()["additionalProperties"] is False
        with pytest.raises(ValidationError) as refused:
            self.actor.Input.model_validate({"no_such_word": 1})
        assert "no_such_word" in str(refused.value)

    async def test_its_output_is_what_it_declares(self, ctx: ActorContext, given: Config) -> None:
        output = await self._call(ctx, given)
        assert isinstance(output, self.actor.Output)
        assert self.actor.Output.model_validate(json.loads(output.model_dump_json())) == output

    async def test_each_failure_it_declares_is_one_it_makes(
        self, ctx: ActorContext, failures: Mapping[str, Failing], failure_class: str
    ) -> None:
        if not failure_class:
            assert not self.actor.failure_classes
            return
        assert failure_class in failures, f"`failures` must say how to cause {failure_class!r}"
        assert failure_class_of(await self._failure(ctx, failures[failure_class])) == failure_class

    async def test_each_failure_it_makes_is_one_it_declares(
        self, ctx: ActorContext, failures: Mapping[str, Failing]
    ) -> None:
        made = [await self._failure(ctx, failing) for failing in failures.values()]
        self._check_declared(failure_class_of(failure) for failure in made)

    async def test_an_input_that_does_not_fit_is_a_failure_it_declares(
        self, ctx: ActorContext, given: Config
    ) -> None:
        unfit = await self._failure(ctx, Failing(given={**given, "no_such_word": 1}))
        assert failure_class_of(unfit) == "schema_invalid"
        self._check_declared(["schema_invalid"])

    async def test_a_session_that_is_not_there_is_a_failure_it_declares(
        self, ctx: ActorContext, given: Config
    ) -> None:
        if not _takes_a_session(self.actor) or "network" not in self.actor.needs(given):
            return  # it does not use one
        unknown = await self._failure(ctx, Failing(given={**given, "session": "nobody"}))
        assert failure_class_of(unknown) == "auth_required"
        self._check_declared(["auth_required"])

    async def test_whatever_the_network_does_is_a_failure_it_declares(
        self, ctx: ActorContext, given: Config
    ) -> None:
        self._check_declared([word async for word in self._failures_by(ctx, given)])

    @pytest.mark.parametrize("turns", [0, 1, 4, 16, 64])
    async def test_it_ends_when_it_is_cancelled(self, ctx: ActorContext, given: Config, turns: int) -> None:
        call = asyncio.ensure_future(self._call(ctx, given))
        for _ in range(turns):
            await asyncio.sleep(0)
        if not call.cancel():
            return  # it was already done
        await _settled(call)
        assert call.cancelled()

    async def test_it_ends_when_it_is_cancelled_while_a_server_is_silent(
        self, ctx: ActorContext, given: Config
    ) -> None:
        silent = Silent()
        muted = alone(ctx, http=Fetcher(ctx.http.policy, silent))
        call = asyncio.ensure_future(self._call(muted, given))
        asked = asyncio.ensure_future(silent.asked.wait())
        await asyncio.wait([call, asked], return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if not call.cancel():
            return  # it sends no request, or not with ``ctx.http``
        await _settled(call)
        assert call.cancelled()

    async def test_its_output_is_the_same_on_the_engine_and_through_a_durable_run(
        self, ctx: ActorContext, given: Config, run_workflow: RunWorkflow
    ) -> None:
        expected = without(json.loads((await self._call(ctx, given)).model_dump_json()), self.volatile)
        for is_durable in (False, True):
            workflow = outcome_workflow(self.actor, given, alone(ctx))
            found = output_of(await run_workflow(workflow, {}, is_durable=is_durable))
            assert without(found, self.volatile) == expected

    async def _call(self, ctx: ActorContext, given: Config) -> BaseModel:
        return await call_until_done(self.actor, alone(ctx), given)

    async def _failures_by(self, ctx: ActorContext, given: Config) -> AsyncIterator[str]:
        """Yield the actor's failures if every request fails with one network failure class."""
        for word in sorted(failures_of(["network"])):
            http = Fetcher(ctx.http.policy, Refusing(word))
            try:
                await call_until_done(self.actor, alone(ctx, http=http), given)
            except Exception as exc:
                yield failure_class_of(exc)

    def _check_declared(self, made: Iterable[str]) -> None:
        declared = self.actor.all_failure_classes()
        assert not [word for word in made if not is_among(word, declared)]

    async def _failure(self, ctx: ActorContext, failing: Failing) -> Exception:
        if failing.before is not None:
            failing.before()
        with pytest.raises(Exception, match=r"\S") as failed:  # its message is not empty
            await self._call(failing.ctx or ctx, failing.given)
        return failed.value


def _takes_a_session(actor: type[Actor]) -> bool:
    field = actor.Input.model_fields.get("session")
    return field is not None and any(isinstance(mark, FromResults) for mark in field.metadata)


async def _settled(call: asyncio.Future[BaseModel]) -> None:
    async with asyncio.timeout(PROMPT_S):
        await asyncio.wait([call])
