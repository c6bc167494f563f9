"""Whether a message has arrived: what is in doubt is never sent again."""

from __future__ import annotations

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from agentic.core.http import FetchError, HttpResponse
from agentic.core.http.errors import FailureClass, PrivateAddressError
from agentic.core.http.messages import Headers
from agentic.executors.notifications.arrival import Arrival
from agentic.executors.notifications.channels import judge_answer, judge_fault

URL = "https://hooks.example.org/services/T0/s3cret"


@pytest.mark.parametrize(
    ("status", "arrival"),
    [
        (200, Arrival.SENT),
        (204, Arrival.SENT),
        (301, Arrival.REFUSED),
        (400, Arrival.REFUSED),
        (401, Arrival.REFUSED),
        (404, Arrival.REFUSED),
        (410, Arrival.REFUSED),
        (408, Arrival.RETRY),
        (429, Arrival.RETRY),
        (500, Arrival.RETRY),
        (502, Arrival.RETRY),
        (503, Arrival.RETRY),
        (504, Arrival.UNKNOWN),
    ],
)
def test_an_answer_says_whether_it_has_arrived(status: int, arrival: Arrival) -> None:
    headers = Headers([("Retry-After", "120")])
    response = HttpResponse(url=URL, status=status, headers=headers, body=b"no\n way", elapsed_s=0.1)
    sending = judge_answer(response)
    assert sending.arrival is arrival
    assert sending.retry_after_s == (120 if arrival is Arrival.RETRY else None)
    assert arrival is Arrival.SENT or f"answered {status}: no way" in sending.reason


def fault(cause: Exception | None, word: str = FailureClass.CONNECT, status: int | None = None) -> FetchError:
    error = FetchError(URL, word, "it broke", status=status)
    error.__cause__ = cause
    return error


def connector_error() -> Exception:
    key = ConnectionKey("h", 443, True, True, None, None, None)
    return aiohttp.ClientConnectorError(key, ConnectionRefusedError(111, "refused"))


@pytest.mark.parametrize(
    ("error", "arrival"),
    [
        (fault(connector_error()), Arrival.RETRY),
        (fault(aiohttp.ServerDisconnectedError()), Arrival.UNKNOWN),
        (fault(aiohttp.ClientOSError(104, "reset")), Arrival.UNKNOWN),
        (fault(TimeoutError(), FailureClass.TIMEOUT), Arrival.UNKNOWN),
        (fault(aiohttp.ClientPayloadError()), Arrival.UNKNOWN),
        (fault(None, FailureClass.DECODE, status=200), Arrival.SENT),
        (fault(PrivateAddressError("h", 443, "10.0.0.1"), FailureClass.PRIVATE_ADDRESS), Arrival.REFUSED),
        (fault(aiohttp.InvalidURL("x"), FailureClass.INVALID_URL), Arrival.REFUSED),
    ],
)
def test_without_an_answer_only_a_refused_connection_is_certain(error: FetchError, arrival: Arrival) -> None:
    sending = judge_fault(error)
    assert sending.arrival is arrival
    assert "s3cret" not in sending.reason
