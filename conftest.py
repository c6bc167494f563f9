"""Runs the Python blocks of the README and the docs as tests, and compares what they print."""

import os
from contextlib import redirect_stdout
from io import StringIO
from typing import Any, cast

import structlog
from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

pytest_plugins = ["tests.costs", "tests.sharing"]


def pytest_configure() -> None:
    """Let no logger keep its first configuration: pages and wide fixtures configure logging, too."""
    configure = structlog.configure

    def configure_without_keeping(**options: Any) -> None:  # noqa: ANN401
        configure(**{**options, "cache_logger_on_first_use": False})

    structlog.configure = configure_without_keeping  # type: ignore[assignment]


_PRINTED = "__printed__"
_ENVIRONMENT = "__environment__"
_evaluate = PythonEvaluator()


def run(example: Example) -> None:
    """Run a block as part of a script, and keep what it prints."""
    example.namespace["__name__"] = "__main__"
    with redirect_stdout(StringIO()) as printed:
        _evaluate(example)
    example.namespace[_PRINTED] = example.namespace.get(_PRINTED, "") + printed.getvalue()


def keep_environment(namespace: dict[str, object]) -> None:
    """Note the environment before the first block of a page."""
    namespace[_ENVIRONMENT] = dict(os.environ)


def restore_environment(namespace: dict[str, object]) -> None:
    """Take back what the blocks of a page have set: other tests run in this process."""
    before = cast(dict[str, str], namespace[_ENVIRONMENT])
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)
    structlog.reset_defaults()


def compare(example: Example) -> str | None:
    """Compare a ``text`` block with what the blocks before it printed; return what is wrong."""
    printed = str(example.namespace.pop(_PRINTED, "")).strip()
    return None if printed == example.parsed.strip() else f"what is printed is\n{printed}"


def compare_picture(example: Example) -> str | None:
    """Compare a ``mermaid`` block, if the blocks before it printed one."""
    return compare(example) if example.namespace.get(_PRINTED) else None


pytest_collect_file = Sybil(
    parsers=[
        CodeBlockParser("python", run),
        CodeBlockParser("text", compare),
        CodeBlockParser("mermaid", compare_picture),
    ],
    patterns=["*.md"],
    excludes=["adr/*"],
    setup=keep_environment,
    teardown=restore_environment,
).pytest()
