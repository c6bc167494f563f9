"""What Celery is told of an error that nobody expected: it goes to the log and to Flower as it is."""

from __future__ import annotations

import traceback

import pytest
from structlog.testing import capture_logs

from agentic.core.masking import MASK, remember_secrets
from agentic.executors.errors import ExecutionFailedError
from agentic.executors.tasks import _one_kind_of_error


def test_an_error_with_a_secret_is_told_without_it() -> None:
    remember_secrets("never/told-7d")
    with capture_logs() as lines, pytest.raises(ExecutionFailedError) as caught, _one_kind_of_error():
        raise RuntimeError("refused never%2Ftold-7d")
    assert str(caught.value) == f"RuntimeError: refused {MASK}"
    told = f"{lines}{traceback.format_exception(caught.value)}"
    assert "told-7d" not in told
    assert "task.failed" in told


def test_so_is_one_whose_cause_has_it() -> None:
    remember_secrets("never/told-7d")
    with capture_logs() as lines, pytest.raises(ExecutionFailedError) as caught, _one_kind_of_error():
        raise RuntimeError("no luck") from KeyError("never/told-7d")
    assert "told-7d" not in f"{lines}{traceback.format_exception(caught.value)}"


def test_any_other_error_is_left_to_celery() -> None:
    with pytest.raises(RuntimeError, match="no luck"), _one_kind_of_error():
        raise RuntimeError("no luck")
