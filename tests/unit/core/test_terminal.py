"""What comes from outside does not reach a terminal as a command."""

from __future__ import annotations

import io
import json
import logging
import re
from contextlib import redirect_stderr, redirect_stdout

import pytest
import structlog
from rich.table import Table

from agentic.core.cli.output import HarmlessConsole, print_json, print_rows, write_json
from agentic.core.logging import configure_logging, get_logger, mask_handlers
from agentic.core.terminal import harmless, harmless_json

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31mred\x7f\b\x0b\u202egnp.exe\u2066"
OBEYED = "\x1b\x07\x9b\x7f\b\x0b\u202e\u2066"


def is_harmless(text: str) -> bool:
    return not set(text) & set(OBEYED)


def test_control_characters_are_written_out_and_lines_stay() -> None:
    assert harmless("a\tb\nc é 日本") == "a\tb\nc é 日本"
    assert harmless("\x1b[31m\r\x9b") == r"\x1b[31m\r\x9b"
    assert is_harmless(harmless(EVIL))


def test_halves_of_surrogate_pairs_are_written_out_because_no_terminal_takes_them() -> None:
    assert harmless("a\ud800b") == r"a\ud800b"
    assert json.loads(harmless_json(json.dumps("a\ud800b", ensure_ascii=False))) == "a\ud800b"


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_console_prints_nothing_of_it_in_lines_and_tables(is_terminal: bool) -> None:
    said = io.StringIO()
    console = HarmlessConsole(file=said, force_terminal=is_terminal, width=200)
    table = Table(title=EVIL)
    table.add_column(EVIL)
    table.add_row(EVIL)
    console.print(table)
    console.print(EVIL, markup=False, highlight=False, style="red")
    console.print(f"[bold]{EVIL.replace('[', '')}[/bold]")
    assert said.getvalue().count("owned") == 5
    assert is_harmless(re.sub(r"\x1b\[[\d;]*m", "", said.getvalue()))  # the console's own colours stay


def test_rows_and_json_hold_nothing_of_it() -> None:
    said = io.StringIO()
    with redirect_stdout(said):
        print_json({"name": EVIL})
        write_json([EVIL])
        print_rows("rows", ["name"], [{"name": EVIL}], as_json=True)
    assert is_harmless(said.getvalue())
    first, _ = json.JSONDecoder().raw_decode(said.getvalue())
    assert first == {"name": EVIL}


@pytest.mark.parametrize("form", ["console", "json"])
def test_our_own_log_holds_nothing_of_it(form: str) -> None:
    before, said = structlog.get_config(), io.StringIO()
    try:
        with redirect_stderr(said):
            configure_logging("debug", form)
            log = get_logger(__name__)
            log.warning("page.read", url=EVIL, short="\x1b[2J", parts=[EVIL])
            try:
                raise ValueError(EVIL)
            except ValueError:
                log.exception("page.failed")
    finally:
        structlog.configure(**before)
    assert "owned" in said.getvalue()
    assert is_harmless(said.getvalue())


def test_the_log_of_libraries_holds_nothing_of_it() -> None:
    said = io.StringIO()
    logger = logging.Logger("celery.of.a.test")  # noqa: LOG001 - of this test alone
    logger.addHandler(logging.StreamHandler(said))
    mask_handlers(logger)
    logger.info("Task %s received", EVIL)
    logger.info(EVIL)
    try:
        raise ValueError(EVIL)
    except ValueError:
        logger.exception("failed: %(why)s", {"why": EVIL})
    assert said.getvalue().count("owned") == 4
    assert is_harmless(said.getvalue())


def test_a_record_stays_as_it_was_for_other_handlers() -> None:
    first, second = io.StringIO(), io.StringIO()
    logger = logging.Logger("celery.of.a.test")  # noqa: LOG001 - of this test alone
    logger.addHandler(logging.StreamHandler(first))
    mask_handlers(logger)
    logger.addHandler(logging.StreamHandler(second))
    logger.info("got %s", EVIL)
    assert second.getvalue() == f"got {EVIL}\n"
