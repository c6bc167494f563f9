"""Breaks the things that rows of docs/requirements.md name, and runs their tests: they must fail.

Usage: ``python tests/break_marks.py [--sample 40] [--seed 1] [--rows LG01,BE06]``. It is not a test itself.

A thing is a class or a function whose name is in the row, or one that :data:`TARGETS` lists. A broken class
cannot be instantiated and a broken function raises, in this process only: tests of other processes (faults,
e2e) are left out. The thing is broken while the test is called. A test that passes all the same, or that
did not get so far, is run once more in a process where the thing is broken from the beginning. If it passes
there, too, its mark is false, or the row's thing is another one.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import io
import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from tests.requirements_report import TABLE, Row, assign, collect_marks, read_rows  # noqa: E402  # needs the path

VARIABLE = "AGENTIC_BROKEN"
"""Names the broken things for a process that begins with them."""
KINDS = ("unit", "integration", "property", "types")
"""Tests that run in this process, the cheapest kind first; ``faults`` and ``e2e`` kill and start others."""
TESTS_OF_A_ROW = 2
ROOMS = ("core", "executors", "mappers", "migrations", "plugins")
_WORD = re.compile(r"([A-Z][a-z]{3,})( [({]| and |,|$)")
_NAME = re.compile(
    r"\b(?:[A-Z][A-Za-z0-9]*\.[a-z_]\w+|[A-Z][a-z0-9]+[A-Z]\w*|[a-z]+_[a-z_]+|[A-Z]{2,}[a-z]\w+)\b"
)

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

Target = tuple[str, str]
"""A module, and the dotted name of a thing in it."""

_HACKERNEWS = "agentic.plugins.hackernews.mapper"
_ROUTE = "agentic.core.graph.planning.routing:route"
_ACTIVATE = "agentic.core.graph.running.runner:Runner._activate"
_RESULT = "agentic.core.graph.running.runner:Runner.result"
_THREAD = "agentic.core.agents.threads.thread:AgentThread"
_SERIALIZING = (f"{_THREAD}.serialize", f"{_THREAD}.deserialize")
TARGETS: Mapping[str, Sequence[str]] = {
    "BR03": ("agentic.core.hooks.manager:PluginRegistry",),
    "ED12": ("agentic.core.graph.model.messages:ExecutorFailure",),
    "EN11": (_ROUTE, _ACTIVATE, _RESULT),
    "EN14": ("agentic.core.graph.model.messages:Delivery",),
    "LE04": (
        "agentic.core.coding.planning.plan:usual_plan",
        "agentic.core.coding.repairing.engine:RepairEngine",
    ),
    "LG04": ("agentic.core.coding.fingerprints:CodeFingerprinter",),
    "LG02": ("agentic.core.coding.validation.pipeline:ValidatorPipeline._first",),
    "LG06": ("agentic.core.coding.planning.decomposer:TaskDecomposer",),
    "LG07": ("agentic.core.coding.planning.locking:changes_in",),
    "LG10": (
        "agentic.core.coding.executors.validators:CoherenceValidator",
        "agentic.core.coding.languages.fitting:find_misfits",
    ),
    "LG11": ("agentic.core.coding.validation.arbiter:Arbiter",),
    "LG12": ("agentic.core.graph.running.runner:Runner._lanes",),
    "LG17": (_ROUTE,),
    "LM06": ("agentic.core.coding.executors.generator:LLMGeneratorExecutor._ask",),
    "ME02": ("agentic.core.agents.memory.stored:StoredMemoryProvider",),
    "OR06": (_ACTIVATE, _RESULT),
    "OR09": ("agentic.core.audit.deriving:decisions_of",),
    "OR10": (_RESULT,),
    "PL03": ("agentic.executors.base:BaseAgentExecutor",),
    "PL15": (f"{_HACKERNEWS}:HackerNewsResultMapper", f"{_HACKERNEWS}:row_of"),
    "RE01": ("agentic.core.agents.reducers.choosing:newest_that_fit",),
    "SC02": ("agentic.core.agents.chat_agent:ChatAgent",),
    "SC03": ("agentic.core.patterns.group_chat:GroupChatBuilder",),
    "SC06": ("agentic.core.coding.validation.supervisor:Supervisor",),
    "SP04": (
        "agentic.core.pipeline.spec.inferring:ModelIntentInference",
        "agentic.core.pipeline.intent_inference.inferring:infer_intent",
        "agentic.core.pipeline.intent_inference.wanted:infer_wanted",
    ),
    "TH02": ("agentic.core.agents.threads.keyvalue:KeyValueThreadStore", f"{_THREAD}.load"),
    "TH03": _SERIALIZING,
    "TO03": ("agentic.core.coding.interpreter:CodeInterpreter",),
}
"""Row -> ``module:name`` of things, where the row has other words for them."""


class BrokenOnPurposeError(Exception):
    """A broken thing was used."""


def _raise(*_: object, **__: object) -> Any:  # never returns
    raise RuntimeError("broken on purpose")  # the code of a function sees only builtins


def index() -> dict[str, list[Target]]:
    """Return name -> things of that name: classes, public functions, and methods as ``Class.method``."""
    public = _public_names()
    found: defaultdict[str, list[Target]] = defaultdict(list)
    for room in ROOMS:
        for path in sorted((REPOSITORY / room).rglob("*.py")):
            module = ".".join(path.relative_to(REPOSITORY / room).with_suffix("").parts).removesuffix(
                ".__init__"
            )
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(x) for x in node.bases):
                    continue  # others have its methods
                if isinstance(node, ast.ClassDef) or (isinstance(node, FUNCTIONS) and node.name in public):
                    found[node.name].append((module, node.name))
                if isinstance(node, ast.ClassDef):
                    for inner in node.body:
                        if isinstance(inner, FUNCTIONS):
                            found[f"{node.name}.{inner.name}"].append((module, f"{node.name}.{inner.name}"))
    return found


def _public_names() -> set[str]:
    found: set[str] = set()
    for room in ROOMS:
        for path in (REPOSITORY / room).rglob("__init__.py"):
            listed = re.search(
                r"^__all__ = \[(.*?)\]", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
            )
            found.update(re.findall(r'"(\w+)"', listed[1]) if listed else ())
    return found


def targets_of(row: Row, known: Mapping[str, Sequence[Target]]) -> list[Target]:
    """Return the things that a row names; a method is broken rather than its whole class."""
    if row.id in TARGETS:
        return [(module, name) for module, _, name in (target.partition(":") for target in TARGETS[row.id])]
    names = _NAME.findall(row.component)
    if not any(name in known for name in names) and (word := _WORD.match(row.component)):
        names = [word[1]]
    whole = {name.partition(".")[0] for name in names if "." in name and name in known}
    chosen = [name for name in names if len(known.get(name, ())) == 1 and name not in whole]
    return list(dict.fromkeys(known[name][0] for name in chosen))


@contextlib.contextmanager
def broken(targets: Sequence[Target]) -> Iterator[None]:
    """Break things for a while."""
    mend: list[Callable[[], None]] = []
    try:
        for module, name in targets:
            mend += _break(module, name)
        yield
    finally:
        for undo in reversed(mend):
            undo()


def _break(module: str, name: str) -> Iterator[Callable[[], None]]:
    owner: Any = importlib.import_module(module)
    for part in name.split(".")[:-1]:
        owner = getattr(owner, part)
    thing = vars(owner)[name.rpartition(".")[2]]
    if isinstance(thing, type):
        before = vars(thing).get("__new__") or staticmethod(_maker(thing.__new__))
        type.__setattr__(thing, "__new__", staticmethod(_raise))
        yield lambda: type.__setattr__(thing, "__new__", before)
        yield from (undo for one in list(vars(thing).values()) for undo in _break_code(one))
    else:
        yield from _break_code(thing)


def _maker(inherited: Any) -> Any:  # of any signature
    """Return a ``__new__`` that does as the inherited one: a class cannot get rid of one of its own."""
    if inherited is object.__new__:
        return lambda cls, *_, **__: object.__new__(cls)
    return inherited


def _break_code(thing: object) -> Iterator[Callable[[], None]]:
    """Put other code into a function, so that modules that have imported it get it, too."""
    function = thing.fget if isinstance(thing, property) else getattr(thing, "__func__", thing)
    function = getattr(function, "func", function)  # a cached property
    function = getattr(function, "__wrapped__", function)
    if isinstance(function, FunctionType) and not function.__code__.co_freevars and function is not _raise:
        before = function.__code__
        function.__code__ = _raise.__code__
        yield lambda: setattr(function, "__code__", before)


class Breaker:
    """A pytest plugin: breaks the things of each test while it is called.

    Args:
        things: Node id without parameters -> row and its things.
    """

    def __init__(self, things: Mapping[str, tuple[str, Sequence[Target]]]) -> None:
        self.things = things
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Break the things of a test around its call."""
        name = item.nodeid.partition("[")[0]
        try:
            with broken(self.things[name][1]):
                return (yield)
        except Exception:
            self.failed.add(name)
            return None


def pytest_configure() -> None:
    """Break things for good, in a process that was started for that: ``-p tests.break_marks``."""
    for text in filter(None, os.environ.get(VARIABLE, "").split(",")):
        module, _, name = text.partition(":")
        list(_break(module, name))


def main(arguments: Sequence[str] | None = None) -> int:
    """Break rows and print those whose tests still pass; return 1 if there are any."""
    parser = argparse.ArgumentParser(description="Do the tests of a row fail without it?")
    parser.add_argument("--sample", type=int, default=40, help="rows to choose, by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", default="", help="these rows in place of a sample, separated by commas")
    options = parser.parse_args(arguments)
    rows = read_rows(TABLE.read_text(encoding="utf-8"))
    assign(rows, collect_marks([str(REPOSITORY / "tests" / kind) for kind in KINDS]) or ())
    known = index()
    able = {row.id: targets for row in rows.values() if row.tests and (targets := targets_of(row, known))}
    wanted = options.rows.split(",") if options.rows else sorted(able)
    chosen = (
        wanted if options.rows else random.Random(options.seed).sample(wanted, min(options.sample, len(able)))
    )
    if not_able := [row for row in chosen if row not in able]:
        sys.stderr.write(f"no thing is known for {', '.join(not_able)}; add it to TARGETS\n")
    return _check([rows[row] for row in chosen if row in able], able)


def _check(rows: Sequence[Row], targets: Mapping[str, Sequence[Target]]) -> int:
    things: dict[str, tuple[str, Sequence[Target]]] = {}
    tests: dict[str, list[str]] = {}
    for row in rows:
        ordered = sorted(row.tests, key=_cost)
        free = [test for test in ordered if test not in things][:TESTS_OF_A_ROW]
        things |= dict.fromkeys(free, (row.id, targets[row.id]))
        tests[row.id] = free or ordered[:1]
    breaker = Breaker(things)
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["-q", "-p", "no:cacheprovider", "--tb=no", *things], [breaker])
    false_count = 0
    for row in rows:
        names = ", ".join(name for _, name in targets[row.id])
        for test in tests[row.id]:
            fails = test in breaker.failed and things[test][0] == row.id
            fails = fails or _fails_from_the_start(test, targets[row.id])
            false_count += not fails
            sys.stdout.write(f"{row.id} {'fails' if fails else 'STILL PASSES'} without {names}: {test}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(rows)} rows, {false_count} tests that still pass\n")
    return 1 if false_count else 0


def _fails_from_the_start(test: str, targets: Sequence[Target]) -> bool:
    broken_things = ",".join(f"{module}:{name}" for module, name in targets)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "tests.break_marks",
            "-p",
            "no:cacheprovider",
            test,
        ],
        env={**os.environ, VARIABLE: broken_things},
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
    )
    return done.returncode != pytest.ExitCode.OK


def _cost(test: str) -> tuple[int, str]:
    return KINDS.index(Path(test).parts[1]), test


if __name__ == "__main__":
    sys.exit(main())
