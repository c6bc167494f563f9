"""Every command, tried in one project with what is another's: nothing is found, nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from tests.integration.executors.access.attempts import (
    FOUND,
    LISTS,
    NO_PROJECTS_BUSINESS,
    TWINS,
    commands,
    naming,
    tried,
)
from tests.integration.executors.access.conftest import Answer, Shell
from tests.integration.executors.access.worlds import ONE, OTHER, WORDS, Names, spec_of, tables

pytestmark = [pytest.mark.integration, pytest.mark.requirement("PL42")]

NewShell = Callable[[], Shell]

TASK = {"actor": "classify", "config": {"model": "fake:words", "labels": ["tea", "cup"]}, "answer": "label"}
EVALUATION = {
    "task": TASK,
    "cases": [{"id": "tea", "input": "green tea", "expected": "tea"}],
    "evaluators": ["exact"],
}

WITHOUT_OWNER = {"projects": "is what owns"}
"""Tables without a project, and why."""


def test_every_command_is_tried_or_is_no_projects_business() -> None:
    seen = {tried(template).command for template in (*FOUND, *TWINS, *LISTS)}
    assert seen | NO_PROJECTS_BUSINESS.keys() == commands().keys()
    assert not seen & NO_PROJECTS_BUSINESS.keys()


def test_every_parameter_that_names_something_is_tried() -> None:
    seen: dict[str, set[str]] = {}
    for one in map(tried, (*FOUND, *TWINS, *LISTS)):
        seen.setdefault(one.command, set()).update(one.parameters)
    assert {name: left for name, found in seen.items() if (left := naming(name) - found)} == {}


def test_every_table_has_an_owner_and_rows_of_the_other_project(new_shell: NewShell) -> None:
    world = new_shell().world
    without = {table.name for table in tables() if "project_id" not in table.c}
    assert without == WITHOUT_OWNER.keys()
    assert [name for name, found in world.rows(OTHER).items() if not found] == []
    assert [name for name, found in world.rows(ONE).items() if not found] == []


def test_what_is_the_others_is_as_if_it_were_not_there(new_shell: NewShell) -> None:
    shell = new_shell()
    before = shell.world.rows(OTHER)
    theirs, nothing = shell.world.names[OTHER], Names.of_nothing()
    for template in FOUND:
        answer = answer_in_one(shell, template, theirs)
        assert answer == answer_in_one(shell, template, nothing), template
        assert answer.code != 0, template
        assert shell.world.rows(OTHER) == before, template


@pytest.mark.slow
@pytest.mark.parametrize("template", FOUND)
def test_what_is_ones_own_is_found(new_shell: NewShell, template: str) -> None:
    shell = new_shell()
    before = shell.world.rows(OTHER)
    nothing = answer_in_one(shell, template, Names.of_nothing())
    own = answer_in_one(shell, template, shell.world.names[ONE])
    assert own != nothing
    assert WORDS[OTHER] not in f"{own.said}{own.error}"
    assert shell.world.rows(OTHER) == before


def answer_in_one(shell: Shell, template: str, names: Names) -> Answer:
    """Return what a command says in the first project, with the names taken out."""
    # What is compared with another execution is one's own: that one is what is looked for.
    own = template.replace("{failed} --against", f"{shell.world.names[ONE].failed} --against")
    asked = names.in_place(own)
    return shell.run(ONE, asked).without(*asked[1:], *asdict(names).values())


@pytest.mark.slow
@pytest.mark.parametrize("template", TWINS)
def test_what_is_called_the_same_is_changed_in_ones_own_project_only(
    new_shell: NewShell, tmp_path: Path, template: str
) -> None:
    agent = {"name": "twin", "platform": "web", "config": {"pipeline": spec_of("twin", "pear")}}
    (tmp_path / "agents.yaml").write_text(yaml.safe_dump({"agents": [agent]}))
    (tmp_path / "twin.yaml").write_text(yaml.safe_dump(spec_of("twin", "pear")))
    (tmp_path / "twin-eval.yaml").write_text(yaml.safe_dump(EVALUATION))
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(agent["config"]))
    shell = new_shell()
    before = {project: shell.world.rows(project) for project in (ONE, OTHER)}
    answer = shell.run(ONE, template.split())
    assert WORDS[OTHER] not in f"{answer.said}{answer.error}"
    assert answer.error == "", template
    assert shell.world.rows(OTHER) == before[OTHER]
    assert (shell.world.rows(ONE) != before[ONE]) == (template != "executions list")


@pytest.mark.slow
@pytest.mark.parametrize("template", LISTS)
def test_listings_show_what_is_ones_own(new_shell: NewShell, template: str) -> None:
    shell = new_shell()
    arguments = {project: template.format(project=project).split() for project in WORDS}
    answers = {project: shell.run(project, arguments[project]) for project in WORDS}
    assert [answer.error for answer in answers.values()] == ["", ""]
    for project, others in ((ONE, OTHER), (OTHER, ONE)):
        assert not tells_of(shell, others, answers[project].said)
    assert tells_of(shell, ONE, answers[ONE].said) or "prune" in template or "metrics" in template


def tells_of(shell: Shell, project: str, said: str) -> list[str]:
    """Return what a text tells of a project."""
    words = {WORDS[project], *asdict(shell.world.names[project]).values(), f'"{project}"'}
    return sorted(word for word in words if word in said)
