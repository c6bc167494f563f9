from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stderr

import pytest
import structlog

from agentic.core.logging import configure_logging, get_logger


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def test_lines_go_to_what_is_standard_error_at_that_moment() -> None:
    first, second = io.StringIO(), io.StringIO()
    with redirect_stderr(first):
        configure_logging()
        log = get_logger(__name__).bind()
        log.warning("one")
    first.close()
    with redirect_stderr(second):
        log.warning("two")
    assert "two" in second.getvalue()
