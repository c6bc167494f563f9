"""Finds the dead letters that can be retried, and retries them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic.core.ids import SHORT_CHARS
from agentic.executors.commands.run.running import RunOutput, checked_dispatcher, run_here
from agentic.executors.commands.shared.options import DispatcherKind, OptionError
from agentic.executors.errors import ExecutionError

if TYPE_CHECKING:
    from agentic.executors.commands.runs.steering import Desk
    from agentic.mappers import AgentModel, ExecutionModel
    from agentic.mappers.tables.core import DeadLetterModel


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterSelection:
    """The letters to retry; one of the three.

    Attributes:
        ids: Letters by id.
        execution: All of this execution: its id, or a prefix of it.
        is_all: All of the project.
    """

    ids: Sequence[str]
    execution: str | None
    is_all: bool

    def __post_init__(self) -> None:
        if [bool(self.ids), self.execution is not None, self.is_all].count(True) != 1:
            raise OptionError("name letters by id, or give either --execution ID or --all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """Letters by whether they can be retried.

    Attributes:
        pages: Execution whose run has completed -> keys of its failed pages.
        items: Letters of steps.
        under_way: Executions whose run has not completed, so that they may still do it themselves.
    """

    pages: dict[str, list[str]]
    items: int
    under_way: list[ExecutionModel]

    def hints(self) -> Iterator[str]:
        """Yield advice for letters that cannot be retried here."""
        for execution in self.under_way:
            name = execution.id[:SHORT_CHARS]
            yield (
                f"execution {name} is {execution.status} and still owns its letters; wait until it ends, "
                f"or continue it with `agentic executions retry {name}`"
            )
        if self.items:
            yield (
                f"dead letters of steps ({self.items}) cannot be retried alone, because the results of "
                "earlier steps are gone; run their agent again with `agentic run`, then drop them with "
                "`agentic dead-letters drop`"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriedDeadLetters:
    """The retry of one execution's letters.

    Attributes:
        execution_id: The execution that retries them.
        retry_of: The execution where they failed.
        letters: The letters to retry.
        left: The remaining letters: failed again, or not fetched yet.
    """

    execution_id: str
    retry_of: str
    letters: int
    left: int

    def __str__(self) -> str:
        which = f"{self.left} of {self.letters} letters of {self.retry_of[:SHORT_CHARS]}"
        return f"execution {self.execution_id[:SHORT_CHARS]} has {which} left"


def sort_dead_letters(desk: Desk, choice: DeadLetterSelection) -> Sorted:
    """Find the chosen letters, and sort them.

    Raises:
        ExecutionError: None can be retried; the message says what to do.
        UnknownDeadLetterError: An id is unknown.
        UnknownExecutionError: The execution does not exist.
    """
    from agentic.mappers import ExecutionModel
    from agentic.mappers.catalog.dead_letters import CRAWL

    pages: defaultdict[str, list[str]] = defaultdict(list)
    under_way: dict[str, ExecutionModel] = {}
    items = 0
    with desk.database.reading() as session:
        for letter in _chosen(desk, choice):
            execution = session.get_one(ExecutionModel, letter.execution_id)
            if letter.step != CRAWL:
                items += 1
            elif execution.has_all_results:
                pages[execution.id].append(letter.item_key)
            else:
                under_way[execution.id] = execution
    found = Sorted(pages=dict(pages), items=items, under_way=list(under_way.values()))
    if not pages:
        raise ExecutionError("; ".join(found.hints()) or "no dead letters to retry")
    return found


def retry(
    desk: Desk, found: Sorted, dispatcher: DispatcherKind, *, quiet: bool
) -> Iterator[RetriedDeadLetters]:
    """Retry letters, one execution after the other; workers report the start only.

    Raises:
        ExecutionFailedError: One failed in this process; its letters stay, and its retry owns them.
        BrokerUnavailableError: The broker does not answer.
    """
    workers = checked_dispatcher(desk.settings) if dispatcher is DispatcherKind.CELERY else None
    for execution_id, item_keys in found.pages.items():
        made, agent, count = _begin(desk, execution_id, item_keys)
        if workers is not None:
            workers.dispatch(made, agent)
        else:
            seen = RunOutput(is_quiet=quiet, exits=False)  # others may wait
            run_here(agent, made, database=desk.database, settings=desk.settings, as_json=False, output=seen)
        left = _count_left(desk, made, item_keys)
        yield RetriedDeadLetters(execution_id=made.id, retry_of=execution_id, letters=count, left=left)


def _chosen(desk: Desk, choice: DeadLetterSelection) -> Sequence[DeadLetterModel]:
    from agentic.executors.commands.shared.finding import find_with_agent
    from agentic.mappers.catalog.dead_letters import find_dead_letter, list_dead_letters

    execution_id = None if choice.execution is None else find_with_agent(desk, choice.execution)[0].id
    with desk.database.reading() as session:
        if choice.ids:
            return [find_dead_letter(session, desk.project_id, name) for name in dict.fromkeys(choice.ids)]
        return list_dead_letters(session, desk.project_id, execution_id=execution_id)


def _begin(desk: Desk, execution_id: str, item_keys: Iterable[str]) -> tuple[ExecutionModel, AgentModel, int]:
    from agentic.mappers import find_agent, find_execution
    from agentic.mappers.catalog.dead_letter_retries import retry_dead_letters

    with desk.database.writing() as session:
        execution = find_execution(session, desk.project_id, execution_id)
        agent = find_agent(session, desk.project_id, execution.agent_id)
        made, count = retry_dead_letters(session, execution, agent, item_keys)
        return made, agent, count


def _count_left(desk: Desk, made: ExecutionModel, item_keys: Iterable[str]) -> int:
    from agentic.mappers.catalog.dead_letters import list_dead_letters

    with desk.database.reading() as session:
        left = list_dead_letters(session, desk.project_id, execution_id=made.id)
        return len({letter.item_key for letter in left}.intersection(item_keys))
