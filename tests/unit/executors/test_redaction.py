from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel, SecretStr

from agentic.core.errors import AgenticError, DuplicateNameError
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.hooks import Offers, PluginRegistry
from agentic.core.masking import remember_secrets
from agentic.core.types import RunId
from agentic.executors.agents.redaction import MASK, MAX_ERROR_CHARS, Redactor

if TYPE_CHECKING:
    from tests.unit.executors.conftest import Lab


class Login(BaseModel):
    user: str
    password: SecretStr


class Config(BaseModel):
    base_url: str
    logins: list[Login]
    tokens: dict[str, SecretStr]


CONFIG = Config(
    base_url="https://example.org",
    logins=[Login(user="ann", password=SecretStr("hunter2!"))],
    tokens={"api": SecretStr("tok-12345"), "short": SecretStr("no")},
)


@pytest.mark.requirement("PL41")
def test_every_secret_of_a_config_is_masked_at_any_depth() -> None:
    text = Redactor.of(CONFIG).text("ann sent hunter2! and tok-12345")

    assert text == f"ann sent {MASK} and {MASK}"


@pytest.mark.requirement("PL07", "PL41")
def test_of_an_agent_whose_platform_is_contested_every_text_is_masked(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    clash = DuplicateNameError("platform", "toy", "agentic-plugin-a 1.0 (a)", "agentic-plugin-b 2.0 (b)")
    monkeypatch.setattr(PluginRegistry, "platforms", Offers({}, {"toy": clash}))
    agent = lab.agent(config={"pin": "harbour", "limit": 3, "logins": [{"answer": "s3cret"}]})
    shown = Redactor.of_agent(agent).data(agent.config)
    assert shown == {"pin": MASK, "limit": 3, "logins": [{"answer": MASK}]}


def test_a_secret_too_short_to_be_one_leaves_texts_readable() -> None:
    assert Redactor.of(CONFIG).text("no answer") == "no answer"


def test_a_secret_that_holds_another_is_masked_whole() -> None:
    assert Redactor(("secret-long", "secret")).text("secret-long") == MASK


@pytest.mark.requirement("PL41")
def test_an_event_carries_no_secret_in_its_data() -> None:
    event = WorkflowEvent(
        kind=EventKind.CUSTOM,
        run_id=RunId("r"),
        time=0.0,
        data={"note": ["hunter2!", {"tok-12345": 1}], "count": 2},
    )

    assert Redactor.of(CONFIG).event(event).data == {"note": [MASK, {MASK: 1}], "count": 2}


@pytest.mark.requirement("PL41")
def test_the_error_of_an_event_loses_passwords_and_queries_of_urls() -> None:
    event = WorkflowEvent(
        kind=EventKind.EXECUTOR_FAILED,
        run_id=RunId("r"),
        time=0.0,
        data={"error": "GET https://ann:pw@example.org/x?key=abc failed"},
    )

    assert Redactor().event(event).data == {"error": "GET https://example.org/x failed"}


def test_an_error_of_the_project_speaks_for_itself() -> None:
    assert Redactor().error(AgenticError("no such thing")) == "no such thing"


def test_any_other_error_is_preceded_by_its_type() -> None:
    assert Redactor().error(ValueError("bad\n  value")) == "ValueError: bad value"
    assert Redactor().error(TimeoutError()) == "TimeoutError"


def test_a_long_error_is_cut() -> None:
    said = Redactor().error("x" * 10_000)

    assert len(said) == MAX_ERROR_CHARS
    assert said.endswith("...")


def test_a_traceback_names_the_place_and_no_secret() -> None:
    try:
        raise ValueError("tok-12345 refused")
    except ValueError as exc:
        said = Redactor.of(CONFIG).traceback(exc)

    assert "test_a_traceback_names_the_place" in said
    assert "tok-12345" not in said


@pytest.mark.requirement("PL41")
def test_errors_have_no_secret_that_this_process_has_read_and_data_is_left_whole() -> None:
    remember_secrets("postgres-7d")
    event = WorkflowEvent(
        EventKind.EXECUTOR_FAILED, RunId("r"), 0.0, data={"error": "of postgres-7d", "item": "postgres-7d"}
    )
    assert Redactor().error(ValueError("of postgres-7d")) == f"ValueError: of {MASK}"
    assert Redactor().event(event).data == {"error": f"of {MASK}", "item": "postgres-7d"}
