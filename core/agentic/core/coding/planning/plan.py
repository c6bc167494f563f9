"""Plans of programs: tasks with dependencies. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Self

from pydantic import Field, model_validator

from agentic.core.coding.messages import CodingMessage, SubTaskRequest

MAX_TASKS = 50


class CodeTaskKind(StrEnum):
    """The part of a program that a task is for."""

    TYPES = "types"
    STUBS = "stubs"
    TESTS = "tests"
    LOGIC = "logic"


class CodeTask(CodingMessage):
    """A task of a plan.

    Attributes:
        id: Unique in the plan.
        kind: The part that it is for.
        task: The text for the model.
        needs: Ids of the tasks whose code it needs.
    """

    __wire_name__ = "agentic.coding.CodeTask"

    id: str = Field(min_length=1, max_length=100)
    kind: CodeTaskKind
    task: str = Field(min_length=1)
    needs: tuple[str, ...] = ()


class CodePlan(CodingMessage):
    """A large task in parts. Refuses unknown needs, equal ids and circles.

    Attributes:
        task: The whole task.
        language: Name of the language.
        tasks: The parts.
        tests: Tests that are there already; then none need to be written.
    """

    __wire_name__ = "agentic.coding.CodePlan"

    task: str
    language: str
    tasks: tuple[CodeTask, ...] = Field(min_length=1, max_length=MAX_TASKS)
    tests: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        ids = [one.id for one in self.tasks]
        if equal := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"two tasks have the id {equal[0]!r}; rename one")
        for one in self.tasks:
            if unknown := [name for name in one.needs if name not in ids]:
                raise ValueError(f"task {one.id!r} needs {unknown[0]!r}, which is not a task of the plan")
        try:
            self.order()
        except CycleError as exc:
            raise ValueError(f"these tasks need each other: {' -> '.join(exc.args[1])}") from None
        return self

    def order(self) -> tuple[CodeTask, ...]:
        """Return the tasks, each after the tasks that it needs."""
        by_id = {one.id: one for one in self.tasks}
        sorter = TopologicalSorter({one.id: one.needs for one in self.tasks})
        return tuple(by_id[name] for name in sorter.static_order())

    def ready(self, done: Collection[str]) -> tuple[CodeTask, ...]:
        """Return the tasks that are not done, and need nothing that is not done."""
        return tuple(one for one in self.tasks if one.id not in done and set(one.needs) <= set(done))

    def request(self, task: CodeTask, done: Mapping[str, str]) -> SubTaskRequest:
        """Return a task as a message for a worker.

        Args:
            task: The task.
            done: Id -> code of finished tasks; the code that the task needs is its context.
        """
        context = "\n\n".join(f"{name}:\n{done[name]}" for name in task.needs if name in done)
        return SubTaskRequest(
            task_id=task.id, task=task.task, language=self.language, context=context or None
        )


def usual_plan(task: str, language: str, tests: str = "") -> CodePlan:
    """Return the plan for a program of any kind: types, then stubs, then tests, then logic.

    Tests that are given are used in place of new ones.

    The tests come first (test-driven development), and their writer sees signatures, not logic, so that both
    do not make the same mistake (AgentCoder, Huang et al., 2023).
    """
    parts = {
        CodeTaskKind.TYPES: "Write only the types of this program: data and interfaces, nothing that works.",
        CodeTaskKind.STUBS: "Write this program without its logic: its types, and all public functions and "
        "classes with their signatures. Each body only raises that it is not implemented.",
        CodeTaskKind.TESTS: "Write the tests of this program, in their own file, against its signatures. Do "
        "not repeat the program.",
        CodeTaskKind.LOGIC: "Write the whole program.",
    }
    needs = {
        CodeTaskKind.TYPES: (),
        CodeTaskKind.STUBS: ("types",),
        CodeTaskKind.TESTS: ("stubs",),
        CodeTaskKind.LOGIC: ("types", "stubs"),
    }
    return CodePlan(
        task=task,
        language=language,
        tests=tests,
        tasks=tuple(
            CodeTask(id=kind.value, kind=kind, task=f"{task}\n\n{text}", needs=needs[kind])
            for kind, text in parts.items()
            if not (tests and kind is CodeTaskKind.TESTS)
        ),
    )
