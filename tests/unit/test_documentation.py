"""The reference says what there is: no more, no less."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from agentic.core.actors.failures import OF_BROWSERS, OF_THE_NETWORK
from agentic.core.audit import DecisionKind
from agentic.core.bus import subject_for
from agentic.core.cli.main import build_app
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.hooks import get_registry, specs
from agentic.core.pipeline import outline, parse_spec
from agentic.core.settings import Settings
from agentic.core.types import RunId

DOCS = Path(__file__).parents[2] / "docs"


def reference(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")


def first_cells(text: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)`", text, flags=re.MULTILINE)


def test_every_setting_has_an_entry() -> None:
    documented = [name for name in first_cells(reference("settings")) if name.startswith("AGENTIC_")]
    assert sorted(documented) == sorted(f"AGENTIC_{name.upper()}" for name in Settings.model_fields)


def test_every_hook_has_an_entry_with_its_arguments() -> None:
    hooks = {name: spec for name, spec in vars(specs).items() if name.startswith("agentic_")}
    arguments = {name: ", ".join(inspect.signature(spec).parameters) for name, spec in hooks.items()}
    assert set(first_cells(reference("hooks"))) == {f"{name}({given})" for name, given in arguments.items()}


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_event_has_an_entry_with_its_subject(kind: EventKind) -> None:
    row = next(line for line in reference("events").splitlines() if line.startswith(f"| `{kind}`"))
    data = {"type": "TYPE", "edge": "EDGE", "request": "REQUEST"}
    event = WorkflowEvent(kind=kind, run_id=RunId("RUN"), time=0, path="NODE", data=data)
    documented = row.split("`")[3]
    for name, value in {
        "run": "P/RUN",
        "node": "P/RUN/NODE",
        "edge": "P/RUN/NODE/EDGE",
        "type": "TYPE",
        "request": "REQUEST",
    }.items():
        documented = documented.replace(f"{{{name}}}", value)
    assert subject_for(event, "P") == documented


def test_there_is_no_entry_for_an_event_that_does_not_exist() -> None:
    assert sorted(first_cells(reference("events"))) == sorted(EventKind)


def test_every_kind_of_decision_has_an_entry_and_no_other_one_has() -> None:
    assert sorted(first_cells(reference("audit"))) == sorted(DecisionKind)


def test_every_command_has_an_entry() -> None:
    documented = re.findall(r"`agentic ([a-z-]+(?: [a-z-]+)?)", reference("commands"))
    assert sorted(documented) == sorted(commands(typer.main.get_command(build_app())))


def test_every_actor_has_an_entry_with_its_aliases() -> None:
    rows = {
        name: line
        for line in reference("pipelines").splitlines()
        for name in re.findall(r"^\| `(\w+)`", line)
    }
    actors = set(get_registry().actors.values())
    assert set(rows) == {actor.name for actor in actors}
    for actor in actors:
        assert all(f"`{alias}`" in rows[actor.name] for alias in actor.aliases)


def test_every_failure_of_every_actor_has_an_entry_that_says_what_it_means() -> None:
    page = reference("actors")
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| \S.* \|$", page, flags=re.MULTILINE)
    actors = sorted(set(get_registry().actors.values()), key=lambda actor: actor.name)
    assert rows == [(actor.name, word) for actor in actors for word in sorted(actor.failure_classes)]


@pytest.mark.parametrize(
    ("title", "classes"),
    [("`network`", OF_THE_NETWORK), ("`browser`, besides those", OF_BROWSERS)],
    ids=["network", "browser"],
)
def test_every_failure_that_comes_with_a_capability_has_an_entry(title: str, classes: frozenset[str]) -> None:
    section = reference("actors").partition(f"with the capability {title}\n")[2].partition("\n## ")[0]
    assert first_cells(section) == sorted(classes)


def public_names() -> Iterator[tuple[str, str]]:
    """Yield the packages, and each name in their ``__all__``."""
    root = DOCS.parent
    for path in sorted([*root.glob("*/agentic/*/__init__.py"), *root.glob("*/agentic/*/*/__init__.py")]):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and [ast.unparse(one) for one in node.targets] == ["__all__"]:
                package = ".".join(path.parent.relative_to(root).parts[1:])
                yield from ((package, name) for name in ast.literal_eval(node.value))


@pytest.mark.requirement("SC09")
def test_every_public_name_of_every_package_has_an_entry_in_the_reference() -> None:
    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "reference").rglob("*.md")]
    directives = re.findall(r"^\.\. (?:auto|py:)\w+:: ([\w.]+)", "\n".join(pages), flags=re.MULTILINE)
    entries = {name.rpartition(".")[2] for name in directives}
    names = list(public_names())
    assert len({package for package, _ in names}) > 30
    assert [f"{package}.{name}" for package, name in names if name not in entries] == []


def test_every_link_in_the_documentation_leads_somewhere() -> None:
    for page in (*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_page_is_reached_from_the_first_one() -> None:
    first = DOCS / "README.md"
    reached, waiting = {first}, [first]
    while waiting:
        page = waiting.pop()
        links = re.findall(r"\]\(([^)#:]+\.md)", page.read_text(encoding="utf-8"))
        found = {(page.parent / link).resolve() for link in links} - reached
        reached |= found
        waiting += [page for page in found if page.is_relative_to(DOCS)]
    pages = {page for page in DOCS.rglob("*.md") if "_build" not in page.parts}
    assert pages - reached == {DOCS / "index.md"}, "the site's own first page includes docs/README.md"


def test_the_map_for_contributors_names_every_package_of_the_core() -> None:
    text = (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| packages of `agentic.core` | hold |")[2].partition("###")[0]
    named = set(re.findall(r"`(\w+)`", table))
    packages = {found.parent.name for found in (DOCS.parent / "core/agentic/core").glob("*/__init__.py")}
    assert packages - named == set()


def commands(command: object, prefix: str = "") -> Iterator[str]:
    inner: dict[str, object] = getattr(command, "commands", {})
    for name, found in inner.items():
        if getattr(found, "hidden", False):
            continue  # an old name
        yield from commands(found, f"{prefix}{name} ")
    if not inner:
        yield prefix.strip()


COMPARED = {"maf": 2, "langgraph": 3, "openai_agents": 4, "pydantic_ai": 5}
"""Module of a library -> its column; column 1 is ours."""


def compared() -> tuple[list[list[str]], str]:
    """Return the rows of the comparison, and its page."""
    page = (DOCS / "explanation" / "patterns-compared.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| |")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines], page


def functions_of(path: Path) -> set[str]:
    """Return the names of the public functions of a module."""
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    defined = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in nodes if isinstance(node, defined) and not node.name.startswith("_")}


def test_every_cell_of_ours_in_the_comparison_names_tests() -> None:
    rows, page = compared()
    named = dict(re.findall(r"^\[\^(\w+)\]: (.+)$", page, flags=re.MULTILINE))
    used = {row[0]: re.findall(r"\[\^(\w+)\]", row[1]) for row in rows}
    assert [name for name, marks in used.items() if not marks] == []
    assert {mark for marks in used.values() for mark in marks} == set(named)
    for shown in named.values():
        file, test = re.findall(r"`([^`]+)`", shown)
        assert test in functions_of(DOCS.parent / file), shown


@pytest.mark.parametrize("peer", COMPARED)
def test_every_cell_of_others_in_the_comparison_is_run_or_cited(peer: str) -> None:
    rows, page = compared()
    cited = set(re.findall(r"^\[(\w+)\]: https://", page, flags=re.MULTILINE))
    has_run = set()
    for row in rows:
        cell = row[COMPARED[peer]]
        if cell.endswith("(run)"):
            has_run.add("_".join(re.findall(r"\w+", row[0].lower())))
        else:
            assert set(re.findall(r"\]\[(\w+)\]", cell)) & cited, (row[0], cell)
    assert has_run == functions_of(DOCS.parent / "tests" / "bench" / "compared" / f"{peer}.py")


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/explanation/coming-from-scrapy-or-crawlee.md",
        "docs/tutorial/first-pipeline.md",
        "docs/reference/pipelines.md",
    ],
)
def test_every_pipeline_in_the_documentation_can_be_used(page: str) -> None:
    text = (DOCS.parent / page).read_text(encoding="utf-8")
    specs_shown = [
        block for block in re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL) if "steps:" in block
    ]
    assert specs_shown
    for block in specs_shown:
        actors = get_registry().actors
        assert outline(parse_spec(block, actors), actors).graph.executors
