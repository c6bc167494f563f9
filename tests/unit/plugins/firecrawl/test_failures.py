"""Refusals of the service as failure classes."""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime
from typing import Any

import pytest

from agentic.core.actors import FAILURE_CLASSES, ActorError
from agentic.plugins.firecrawl.failures import Answer, lost_connection, refusal_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def refused(status: int, content: Any = None, **headers: str) -> ActorError:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return refusal_of(Answer(status=status, headers=fields, content=content), "scrape it", NOW)


@pytest.mark.parametrize(
    ("status", "content", "failure_class", "detail"),
    [
        (200, {"error": "No"}, "error", ""),
        (200, {"code": "SCRAPE_DNS_RESOLUTION_ERROR"}, "dns", ""),
        (400, {"error": "Bad"}, "http_400", ""),
        (401, {}, "auth_required", ""),
        (402, {}, "quota_exhausted", ""),
        (403, {}, "blocked", "unsupported"),
        (403, None, "blocked", "html_for_json"),
        (408, {}, "timeout", ""),
        (429, {}, "rate_limited", "account"),
        (500, {"code": "SCRAPE_SSL_ERROR"}, "tls", ""),
        (500, {"code": "SCRAPE_TIMEOUT"}, "timeout", ""),
        (503, None, "http_503", ""),
    ],
)
def test_every_refusal_has_a_class(status: int, content: Any, failure_class: str, detail: str) -> None:
    failed = refused(status, content)
    assert (failed.failure_class, failed.detail) == (failure_class, detail)
    assert failure_class in FAILURE_CLASSES or failure_class == f"http_{status}"


def test_the_time_to_come_again_is_told_as_a_number_or_a_date() -> None:
    assert refused(429, {}, retry_after="12").retry_after_s == 12
    assert refused(429, {}, Retry_After="Thu, 01 Jan 2026 00:01:00 GMT").retry_after_s == 60
    assert refused(429, {}).retry_after_s is None


def test_a_status_of_the_service_is_not_taken_for_one_of_the_site() -> None:
    assert refused(500, {"code": "SCRAPE_SSL_ERROR"}).status is None
    assert refused(500, {"code": "UNKNOWN_ERROR"}).status == 500
    assert refused(200, {"error": "No"}).status is None


def test_a_message_says_what_happened_and_what_can_be_done() -> None:
    failed = refused(402, {"error": "Insufficient credits" + "." * 900})
    assert str(failed).startswith("Firecrawl did not scrape it (quota_exhausted): it answered 402: Insuff")
    assert str(failed).endswith("; buy credits, or wait for the next month's")
    assert len(str(failed)) < 400


@pytest.mark.parametrize(
    ("root", "failure_class"),
    [(socket.gaierror(-2, "x"), "dns"), (ssl.SSLError(1, "x"), "tls"), (OSError(111, "x"), "connect")],
)
def test_a_connection_is_lost_for_what_is_at_the_root_of_it(root: Exception, failure_class: str) -> None:
    try:
        try:
            raise root
        except OSError as exc:
            raise RuntimeError("told by a client") from exc
    except RuntimeError as exc:
        failed = lost_connection(exc, "scrape it", is_timeout=False)
    assert failed.failure_class == failure_class
    assert lost_connection(root, "scrape it", is_timeout=True).failure_class == "timeout"
