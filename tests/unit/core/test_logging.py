from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr

import pytest
import structlog

from agentic.core.logging import configure_logging, get_logger, mask_handlers
from agentic.core.masking import MASK, remember_secrets


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


def test_a_secret_that_was_read_is_in_no_line() -> None:
    said = io.StringIO()
    remember_secrets('hush/7d"zebra')
    with redirect_stderr(said):
        for form in ("console", "json"):
            configure_logging("debug", form)
            get_logger(__name__).debug("sent", headers={"X-Key": ["hush/7d%22zebra", 'hush/7d"zebra']})
    assert "sent" in said.getvalue()
    assert "zebra" not in said.getvalue()
    assert said.getvalue().count(MASK) == 4


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_traceback_shows_no_local_variables(form: str) -> None:
    said = io.StringIO()
    with redirect_stderr(said):
        configure_logging("debug", form)
        _fail("never-to-be-told")
    assert "ValueError: told" in said.getvalue()
    assert "in _fail" in said.getvalue()
    assert "never-to-be-told" not in said.getvalue()


def _fail(held: str) -> None:
    try:
        raise ValueError("told" if held else "")
    except ValueError:
        get_logger(__name__).warning("failed", exc_info=True)


def test_lines_of_other_libraries_are_masked_too() -> None:
    said = io.StringIO()
    logger = logging.getLogger("tests.other")
    logger.propagate = False
    handler = logging.StreamHandler(said)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(handler)
    remember_secrets("other-7d-zebra")
    mask_handlers(logger)
    mask_handlers(logger)
    logger.warning("GET %s", "https://host/?key=other-7d-zebra")
    assert said.getvalue() == f"WARNING GET https://host/?key={MASK}\n"


@pytest.mark.parametrize(
    "use",
    [
        "from agentic.core.logging import get_logger; get_logger('own').warning('told')",
        "import structlog; structlog.get_logger(module='own').warning('told')",
        "from structlog.stdlib import get_logger; get_logger(module='own').warning('told')",
        "import structlog.contextvars; structlog.get_logger(module='own').warning('told')",
    ],
)
def test_structlog_is_loaded_for_the_first_line_and_is_configured_then(use: str) -> None:
    code = (
        "import sys\n"
        "from agentic.core.logging import configure_logging, get_logger\n"
        "log = get_logger('before')\n"
        "configure_logging('debug', 'console')\n"
        "configure_logging('warning', 'json')\n"
        "assert 'structlog' not in sys.modules\n"
        f"{use}\n"
        "log.info('hidden')\n"
        "log.warning('later')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["event"], line["module"]) for line in lines] == [("told", "own"), ("later", "before")]
    assert done.stdout == ""
