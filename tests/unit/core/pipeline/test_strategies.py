"""What a pipeline does when something fails: rules that change the way, and what is kept of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast

import pytest
from pydantic import BaseModel, ConfigDict

from agentic.core.actors import Actor, ActorContext, ActorError, Again, FromResults
from agentic.core.audit import Decision
from agentic.core.graph import EventKind, RunTimeoutError, Workflow
from agentic.core.http import Headers, HttpRequest, HttpResponse
from agentic.core.http.redirects import next_request
from agentic.core.pipeline import PipelineResult, SpecError, StepFailedError, parse_spec
from agentic.core.types import JSONValue

Run = Callable[..., Any]
MakeActor = Callable[..., Any]
Compile = Callable[[str], Workflow]

STRICT = ConfigDict(extra="forbid", frozen=True)


def failing_with(failure_class: str, message: str = "it did not work") -> ActorError:
    return ActorError(message, failure_class=failure_class)


class TestStepsRunAnew:
    TEXT = """
steps:
  - {id: login, actor: login, config: {user: "${inputs.user}"}, save_as: session}
  - {actor: read, error_handling: {auth_expired: {rerun: login}}}
inputs: {user: {default: ann}}
"""

    async def test_a_login_is_made_anew_when_a_session_has_expired(
        self, run: Run, make_actor: MakeActor
    ) -> None:
        logins: list[str] = []

        def login(user: str) -> None:
            logins.append(user)

        def read() -> list[JSONValue]:
            if len(logins) < 2:
                raise failing_with("auth_expired")
            return [{"logins": len(logins)}]

        make_actor("login", login, gives="session")
        make_actor("read", read, gives="items")
        result = await run(self.TEXT)
        assert (result.items, logins) == (({"logins": 2},), ["ann", "ann"])
        assert [a.action for a in result.retried[0].attempts] == ["rerun", ""]

    async def test_it_is_made_anew_once(self, run: Run, make_actor: MakeActor) -> None:
        logins: list[str] = []

        def login(user: str) -> None:
            logins.append(user)

        def read() -> None:
            raise failing_with("auth_expired")

        make_actor("login", login, gives="session")
        make_actor("read", read, gives="items")
        with pytest.raises(StepFailedError, match="after 2 attempts"):
            await run(self.TEXT)
        assert len(logins) == 2

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("rerun: login", "rerun: logni", "unknown step 'logni'; did you mean 'login'"),
            (
                'config: {user: "${inputs.user}"}',
                'config: {user: "${user}"}',
                "step 'login' cannot be rerun: it needs user",
            ),
        ],
    )
    def test_a_step_that_cannot_be_run_anew_is_found(
        self, actors: Mapping[str, type[Actor]], make_actor: MakeActor, old: str, new: str, message: str
    ) -> None:
        make_actor("login", lambda user: None, gives="session")
        make_actor("read", lambda: None, gives="items")
        with pytest.raises(SpecError, match=message):
            parse_spec(self.TEXT.replace(old, new), actors)


class TestEndings:
    LOOP = """
limits: {LIMITS}
steps:
  - {actor: list}
  - {type: loop, source: urls, collect: items, loop_steps: [{actor: read}],
     error_handling: {empty: {then: dead_letter}}}
"""

    @pytest.fixture(autouse=True)
    def _actors(self, make_actor: MakeActor) -> None:
        def read(url: str) -> str:
            if url in "bc":
                raise failing_with("empty" if url == "b" else "timeout")
            return url

        make_actor("list", lambda: list("abcd"), gives="urls")
        make_actor("read", read, gives="items")

    async def test_a_dead_letter_is_kept_as_one(self, run: Run) -> None:
        result = await run(self.LOOP.replace("LIMITS", ""))
        assert [(item.item, item.is_letter) for item in result.failed_items] == [("b", True), ("c", False)]

    async def test_more_failures_than_the_limit_end_the_pipeline(self, run: Run) -> None:
        text = self.LOOP
        assert len((await run(text.replace("LIMITS", "max_failed: 2"))).failed_items) == 2
        with pytest.raises(StepFailedError, match=r"2 failed, more than max_failed \(1\)"):
            await run(text.replace("LIMITS", "max_failed: 1"))

    async def test_a_run_that_takes_longer_than_its_limit_fails(
        self, compiled: Compile, make_actor: MakeActor
    ) -> None:
        make_actor("wait", lambda: asyncio.Event().wait(), gives="items")
        with pytest.raises(RunTimeoutError):
            await compiled("limits: {max_seconds: 0.05}\nsteps: [{actor: wait}]").run({})

    async def test_an_item_carries_its_tries(self, run: Run, make_actor: MakeActor) -> None:
        asked: list[str] = []

        def read(url: str) -> dict[str, JSONValue]:
            asked.append(url)
            if asked.count("b") == 1 and url == "b":
                raise failing_with("timeout")
            return {"url": url}

        make_actor("read", read, gives="item")
        result = await run("""
steps:
  - {actor: list}
  - {type: loop, source: urls, loop_steps: [{actor: read}],
     error_handling: {timeout: {retry_count: 1, backoff_s: 0}}}
""")
        chains = {item["url"]: item.get("_attempts") for item in result.items}
        assert [url for url, chain in chains.items() if chain] == ["b"]
        assert [(tried["actor"], tried.get("failure_class")) for tried in cast(Any, chains["b"])] == [
            ("read", "timeout"),
            ("read", None),
        ]
        assert [tried.item for tried in result.retried] == ["b"]


class TestEvents:
    @pytest.mark.requirement("SP23")
    async def test_each_change_of_strategy_is_an_event_with_its_reason(
        self, compiled: Compile, make_actor: MakeActor
    ) -> None:
        def refuse() -> None:
            raise ActorError("go away", failure_class="http_403", status=403)

        make_actor("read", refuse, gives="items")
        make_actor("ask", lambda: [{"by": "ask"}], gives="items")
        flow = compiled("steps: [{actor: read}]\nerror_handling: {403_error: {retry_with_actor: ask}}")
        stream = flow.run_stream({})
        told = [e.data["data"] async for e in stream if e.kind is EventKind.CUSTOM]
        assert told == [
            {
                "subject": "read",
                "actor": "read",
                "action": "fallback",
                "next": "ask",
                "failure_class": "http_403",
                "reason": "go away",
            }
        ]


class TestDecisions:
    """What the audit is told, with the rule and the failure that decided."""

    @pytest.mark.requirement("NA21")
    @pytest.mark.requirement("LG15")
    async def test_retries_a_fallback_and_giving_up_are_decisions_of_the_engine(
        self, run: Run, make_actor: MakeActor, decisions: list[Decision]
    ) -> None:
        def refuse() -> None:
            raise ActorError("go away, http://ann:geheim@shop/", failure_class="http_403", status=403)

        make_actor("read", refuse, gives="items")
        make_actor("ask", refuse, gives="items")
        rule = "{retry_count: 1, backoff_s: 0, retry_with_actor: ask, then: skip}"
        await run(f"steps: [{{actor: read}}]\nerror_handling: {{403_error: {rule}}}")

        assert [(one.kind, one.who) for one in decisions] == [
            ("attempt.retried", "engine"),
            ("fallback.chosen", "engine"),
            ("item.given_up", "engine"),
        ]
        assert [one.what for one in decisions] == [
            "read: read failed; retry in 0 s",
            "read: read failed; fallback to ask",
            "read: ask failed; failed for good, then: skip",
        ]
        assert {one.reason for one in decisions} == {"http_403: go away, http://shop/"}
        assert decisions[1].details["next"] == "ask"

    async def test_a_step_that_is_run_anew_is_one(
        self, run: Run, make_actor: MakeActor, decisions: list[Decision]
    ) -> None:
        logins: list[str] = []

        def read() -> list[JSONValue]:
            if len(logins) < 2:
                raise failing_with("auth_expired")
            return []

        make_actor("login", lambda user: logins.append(user), gives="session")  # noqa: PLW0108  # its argument has a name
        make_actor("read", read, gives="items")
        await run(TestStepsRunAnew.TEXT)
        (found,) = decisions
        assert (found.kind, found.details["next"]) == ("step.rerun", "login")

    async def test_no_secret_stands_in_one(
        self, run: Run, make_actor: MakeActor, decisions: list[Decision], secrets: dict[str, str]
    ) -> None:
        secrets["key"] = "tell-nobody"

        def read(url: str) -> None:
            raise failing_with("timeout", f"{url} does not answer")

        make_actor("read", read, gives="items")
        with pytest.raises(StepFailedError):
            await run('steps: [{actor: read, config: {url: "http://a/?key=${secrets.key}"}}]')
        assert decisions
        assert not any("tell-nobody" in one.model_dump_json() for one in decisions)


class TestSecrets:
    @pytest.fixture
    def secrets(self) -> dict[str, str]:
        return {"key": "tell-nobody"}

    TEXT = 'steps: [{actor: read, config: {url: "http://a/?key=${secrets.key}"}}]'

    async def test_an_actor_is_given_the_secret_and_the_state_is_not(
        self, compiled: Compile, make_actor: MakeActor
    ) -> None:
        seen: list[str] = []

        def read(url: str) -> list[JSONValue]:
            seen.append(url)
            return [{"url": url}]

        make_actor("read", read, gives="items")
        flow = compiled(self.TEXT)
        run = await flow.run({})
        assert seen == ["http://a/?key=tell-nobody"]
        result = PipelineResult.model_validate(run.output(dict))
        assert result.items == ({"url": "http://a/?key=***"},)

    async def test_no_message_quotes_it(self, run: Run, make_actor: MakeActor) -> None:
        def read(url: str) -> None:
            raise failing_with("timeout", f"{url} took too long")

        make_actor("read", read, gives="items")
        with pytest.raises(StepFailedError) as caught:
            await run(self.TEXT)
        assert "key=*** took too long" in str(caught.value)
        assert "tell-nobody" not in repr(caught.value.__dict__)

    async def test_it_goes_along_with_no_redirect_to_another_origin(
        self, run: Run, make_actor: MakeActor
    ) -> None:
        kept: list[dict[str, str]] = []

        def read(url: str) -> list[JSONValue]:
            request = HttpRequest(url="http://a/", headers={"X-Any": url, "X-Other": "harmless"})
            fields = Headers([("location", "http://b/")])
            answer = HttpResponse(url="http://a/", status=302, headers=fields, body=b"")
            following = next_request(request, answer)
            assert following is not None
            kept.append(dict(following.headers))
            return []

        make_actor("read", read, gives="items")
        await run(self.TEXT)
        assert kept == [{"X-Other": "harmless"}]

    async def test_one_that_is_not_there_is_named(self, run: Run, make_actor: MakeActor) -> None:
        make_actor("read", lambda url: [], gives="items")
        with pytest.raises(StepFailedError, match="secret 'kye' does not exist; store it with"):
            await run(self.TEXT.replace("secrets.key", "secrets.kye"))

    @pytest.mark.parametrize(
        "text",
        [
            "steps: [{actor: read, when: secrets.key, config: {url: x}}]",
            "steps: [{type: loop, source: secrets.key, loop_steps: [{actor: read}]}]",
            "steps: [{type: crawl, start: 'http://a/?key=${secrets.key}'}]",
            (
                "steps: [{type: pipeline, inputs: {k: '${secrets.key}'}, pipeline: {inputs: {k: {}}, steps: "
                "[{actor: fetch, config: {url: x}}]}}]"
            ),
        ],
    )
    def test_a_secret_is_for_actors_alone(
        self, actors: Mapping[str, type[Actor]], make_actor: MakeActor, text: str
    ) -> None:
        make_actor("read", lambda url: [], gives="items")
        with pytest.raises(SpecError, match="secrets are allowed only in the config of an actor"):
            parse_spec(text, actors)


class Job(BaseModel):
    """Nothing to say."""

    model_config = STRICT
    name: Annotated[str | None, FromResults()] = None


class JobResult(BaseModel):
    """What a job gave."""

    items: list[dict[str, JSONValue]]


class JobActor(Actor[Job, JobResult]):
    """Begins a job once and asks for it until it is done."""

    name = "job"
    version = "1"
    Input = Job
    Output = JobResult
    may_wait = True

    async def run(self, ctx: ActorContext, given: Job, /) -> JobResult | Again:
        async def start() -> JSONValue:
            BEGUN.append(ctx.call)
            return len(BEGUN)

        number = await ctx.once("start", start)
        ASKED.append(str(number))
        if len(ASKED) < 3:
            return Again(after_s=0.001, note="not yet")
        return JobResult(items=[{"job": number, "name": given.name}])


BEGUN: list[str] = []
ASKED: list[str] = []


class TestActorsThatWait:
    @pytest.fixture(autouse=True)
    def _job(self, actors: dict[str, type[Actor]]) -> None:
        actors["job"] = JobActor
        BEGUN.clear()
        ASKED.clear()

    async def test_one_is_asked_again_and_begins_its_job_once(self, compiled: Compile) -> None:
        run = await compiled("steps: [{actor: job}]").run({})
        assert (len(BEGUN), ASKED) == (1, ["1", "1", "1"])
        assert BEGUN[0] == f"{run.run_id}/job"
        # The inputs, the first call, two further ones, the result.
        assert run.superstep_count == 5

    async def test_an_optional_input_is_taken_from_results_that_are_there(
        self, run: Run, make_actor: MakeActor
    ) -> None:
        make_actor("call", lambda: "ann", gives="name")
        result = await run("steps: [{actor: call}, {actor: job}]")
        assert result.items == ({"job": 1, "name": "ann"},)
