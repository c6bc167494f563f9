"""Chooses the messages that stay: whole groups, the newest first, and always the system and the task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from agentic.core.agents.conversation import groups_of
from agentic.core.llm.messages import ChatMessage, ChatRole

Group = tuple[ChatMessage, ...]


def task_index(groups: Sequence[Group]) -> int | None:
    """Return the index of the task: the last message of a person."""
    return next(
        (index for index in reversed(range(len(groups))) if groups[index][0].role is ChatRole.USER), None
    )


def kept_always(groups: Sequence[Group]) -> set[int]:
    """Return the indexes of groups that no reducer removes: the system's, the task, and the newest one."""
    found = {index for index, group in enumerate(groups) if group[0].role is ChatRole.SYSTEM}
    if (task := task_index(groups)) is not None:
        found.add(task)
    if groups:
        found.add(len(groups) - 1)
    return found


def newest_that_fit(
    messages: Sequence[ChatMessage],
    limit: int,
    size_of: Callable[[Group], int],
    preferred: Collection[int] = (),
) -> list[ChatMessage]:
    """Return the messages that stay within a limit.

    The groups that are always kept count first, then preferred ones, then the newest without a gap. The rest
    begins with a person's message, because some providers want it.

    Args:
        messages: Well-formed.
        limit: Of the sum of sizes; exceeded only by the groups that are always kept.
        size_of: Size of a group.
        preferred: Indexes of groups that stay before newer ones, as far as they fit.
    """
    groups = groups_of(messages)
    kept = kept_always(groups)
    room = limit - sum(size_of(groups[index]) for index in kept)
    for index in preferred:
        if index not in kept and size_of(groups[index]) <= room:
            room -= size_of(groups[index])
            kept.add(index)
    for index in reversed(range(len(groups))):
        if index in kept:
            continue
        room -= size_of(groups[index])
        if room < 0:
            break
        kept.add(index)
    return in_order(groups, kept)


def in_order(groups: Sequence[Group], kept: Collection[int]) -> list[ChatMessage]:
    """Return the messages of groups, without those that precede the first message of a person."""
    always = kept_always(groups)
    first = min((index for index in kept if groups[index][0].role is ChatRole.USER), default=0)
    return [
        message for index in sorted(kept) if index >= first or index in always for message in groups[index]
    ]
