"""The examples: each prints what its README shows, has the graph that it draws, and uses public names."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.guides import Command, steps_of
from tests.integration.plugins.openai.wire import OpenAIWire

from agentic.core import Workflow
from agentic.core.coding import RepairEngine, SandboxValidator, language_tools
from agentic.core.llm import ChatMessage, ModelRequest, ScriptedModel
from agentic.core.sandbox import ProcessSandbox
from agentic.core.testing.llm import KEY, serving

pytestmark = pytest.mark.integration

TESTS = Path(__file__).parents[2]
EXAMPLES = TESTS.parent / "examples"
ROWS: Mapping[str, Sequence[str]] = {
    "agent_workflow": ["XA04"],
    "async_cache": ["XA02"],
    "graph_persistence": ["XA07"],
    "graph_refactor": ["XA07"],
    "graph_workflow": ["XA07"],
    "grounded_loop": ["XA03"],
    "memory_demo": ["XA06"],
    "patterns_demo": ["XA05"],
    "state_machine": ["XA01", "SC01"],
    "sub_graph": ["XA08"],
}
"""The examples in one or two files, with their rows of the requirements."""
UNDRAWN = {"memory_demo"}
"""Has no graph."""
LEFT_BEHIND = shutil.ignore_patterns("*.db*", "refactored.py", "__pycache__", ".agentic")
KILLED = "Killed"
MAX_CPU_S = 10.0
"""Of all commands of an example, compilers and tests included."""

each_example = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.requirement(*rows)) for name, rows in ROWS.items()]
)


@pytest.fixture
def folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of an example, where it runs."""
    if name == "async_cache" and not language_tools().has("rust"):
        pytest.skip("rustc is not installed")
    folder = shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=LEFT_BEHIND)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", None)).startswith(str(folder)):
            del sys.modules[module]


@each_example
def test_an_example_prints_what_its_readme_shows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = [step for step in steps_of(readme_of(folder)) if isinstance(step, Command)]
    typed = [command for command in commands if command.text.startswith("python ")]
    assert typed
    began_s = cpu_s()
    for command in typed:
        shown = re.escape(command.shown.strip()).replace(re.escape("..."), ".*")
        printed = printed_by(shlex.split(command.text)[1:], monkeypatch, is_killed=KILLED in command.shown)
        assert re.fullmatch(shown, printed.strip(), re.DOTALL), printed
    assert cpu_s() - began_s < MAX_CPU_S


@pytest.mark.parametrize(
    ("name", "file"), [("agent_workflow", "agent_workflow.py"), ("grounded_loop", "after.py")]
)
async def test_a_real_model_takes_the_place_of_the_script(
    folder: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = ScriptedModel(importlib.import_module(Path(file).stem).SCRIPT)
    async with serving(OpenAIWire()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        while script.remaining_count:
            reply = await script.complete(ModelRequest(messages=(ChatMessage.user("?"),)))
            server.script(server.wire.streamed(reply.model_copy(update={"id": "1"}), [100]))
        words = [file, "--model", "openai:model-1"]
        printed = await asyncio.to_thread(printed_by, words, monkeypatch, is_killed=False)
        assert not server.problems
    assert printed.strip() in readme_of(folder)


@each_example
def test_an_example_has_the_graph_that_its_readme_draws(name: str, folder: Path) -> None:
    drawn = re.findall(r"^```mermaid\n(.*?)\n```$", readme_of(folder), re.MULTILINE | re.DOTALL)
    assert drawn
    if name not in UNDRAWN:
        assert drawn == list(dict.fromkeys(workflow.to_mermaid() for workflow in workflows_of(folder)))


@each_example
def test_an_example_uses_public_names_only(folder: Path) -> None:
    for path in folder.glob("*.py"):
        for module, name in imports_of(path):
            assert name in importlib.import_module(module).__all__, f"{path.name}: {module}.{name}"


def test_every_example_is_in_the_list_of_examples() -> None:
    listed = re.findall(r"^\| \[.*?\]\(([\w-]+)/(?:README\.md)?\)", readme_of(EXAMPLES), re.MULTILINE)
    assert sorted(listed) == sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))
    assert set(ROWS) <= set(listed)


@pytest.mark.requirement("XA10")
def test_there_are_no_fewer_examples_and_tests_than_in_the_predecessor() -> None:
    assert len(list(EXAMPLES.glob("*/README.md"))) >= 17
    assert count_of_tests("agents/") >= 44
    assert count_of_tests("patterns/") >= 36
    assert count_of_tests("memor") + count_of_tests("reducer") >= 17


def test_every_link_in_a_readme_leads_somewhere() -> None:
    for page in EXAMPLES.rglob("README.md"):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page}: {target}"


def count_of_tests(word: str) -> int:
    """Return the number of test functions in files with a word in their path."""
    files = [path for path in TESTS.rglob("test_*.py") if word in str(path.relative_to(TESTS))]
    return sum(len(re.findall(r"def test_", path.read_text(encoding="utf-8"))) for path in files)


def readme_of(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def cpu_s() -> float:
    """Return the CPU seconds of this process and of those that it started, which have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def printed_by(words: list[str], monkeypatch: pytest.MonkeyPatch, *, is_killed: bool) -> str:
    """Return what a program prints: here, or in a process of its own if it kills that."""
    if is_killed:
        ended = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        assert ended.returncode == -9, ended.stderr
        return f"{ended.stdout}{KILLED}"
    monkeypatch.setattr(sys, "argv", words)
    with redirect_stdout(StringIO()) as printed:
        runpy.run_path(words[0], run_name="__main__")
    return printed.getvalue()


def workflows_of(folder: Path) -> Iterator[Workflow]:
    """Yield what the functions of an example build, in their order."""
    for path in sorted(folder.glob("*.py")):
        if path.name.startswith("test_"):
            continue
        module = importlib.import_module(path.stem)
        for function in vars(module).values():
            made = inspect.isfunction(function) and function.__annotations__.get("return")
            if made is Workflow:
                yield built(function)
            elif made is RepairEngine:
                yield built(function).workflow


def built(build: Callable[..., Any]) -> Any:
    parts: dict[str, Any] = {
        "model": ScriptedModel([]),
        "speak": lambda *script: ScriptedModel(script),
        "validator": SandboxValidator(ProcessSandbox(language_tools())),
    }
    wanted = inspect.signature(build).parameters
    return build(**{name: part for name, part in parts.items() if name in wanted})


def imports_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield modules of the project and names that a file imports of them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agentic."):
            yield from ((str(node.module), alias.name) for alias in node.names)
