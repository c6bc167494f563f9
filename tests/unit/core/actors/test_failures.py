"""Exceptions as failure classes."""

from __future__ import annotations

import pickle
import socket
import ssl

import pytest
from pydantic import BaseModel, ValidationError

from agentic.core.actors import FAILURE_CLASSES, ActorError, describe_failure, failure_class_of
from agentic.core.actors.failures import MESSAGE_LIMIT
from agentic.core.http import FetchError
from agentic.core.masking import MASK, remember_secrets


class Secret(BaseModel):
    token: int


@pytest.mark.parametrize(
    ("error", "failure_class"),
    [
        (ActorError("gone", failure_class="empty"), "empty"),
        (FetchError("http://a/", "http_404", "not there", status=404), "http_404"),
        (TimeoutError(), "timeout"),
        (socket.gaierror(), "dns"),
        (ssl.SSLError(), "tls"),
        (ConnectionRefusedError(), "connect"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "decode"),
        (KeyError("x"), "error"),
    ],
)
def test_every_exception_has_a_class(error: Exception, failure_class: str) -> None:
    assert failure_class_of(error) == failure_class


def test_what_the_server_said_is_kept() -> None:
    failure = describe_failure(
        FetchError("http://a/", "rate_limited", "slow down", status=429, retry_after_s=7)
    )
    assert (failure.failure_class, failure.status, failure.retry_after_s) == ("rate_limited", 429, 7)


def test_a_value_that_does_not_fit_is_not_quoted() -> None:
    with pytest.raises(ValidationError) as caught:
        Secret.model_validate({"token": "hunter2"})
    failure = describe_failure(caught.value)
    assert failure.failure_class == "schema_invalid"
    assert "token" in failure.message
    assert "hunter2" not in failure.message


def test_an_exception_without_words_is_named() -> None:
    assert describe_failure(TimeoutError()).message == "TimeoutError"


def test_messages_are_cut() -> None:
    assert len(describe_failure(ValueError("x" * 10_000)).message) == MESSAGE_LIMIT


def test_an_actor_error_survives_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(ActorError("late", failure_class="timeout", retry_after_s=2)))
    assert (str(error), error.failure_class, error.retry_after_s) == ("late", "timeout", 2)


def test_the_words_of_fetching_are_known() -> None:
    assert {"timeout", "rate_limited", "robots_denied"} <= FAILURE_CLASSES


@pytest.mark.requirement("PL41")
def test_of_a_secret_at_the_end_of_a_long_message_no_part_is_left() -> None:
    remember_secrets("hush-7d-zebra")
    message = describe_failure(ValueError("x" * (MESSAGE_LIMIT - 6) + "hush-7d-zebra")).message
    assert message == "x" * (MESSAGE_LIMIT - 6) + MASK[:6]
