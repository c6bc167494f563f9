"""Who speaks next in a group chat."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence

from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.messages import ChatMessage, ChatRole
from agentic.core.llm.registry import as_model
from agentic.core.patterns.conversation import transcript
from agentic.core.patterns.errors import SelectorMisfitError
from agentic.core.records import record


@record(kw_only=True)
class GroupChatState:
    """The view of a selector.

    Attributes:
        participants: Their names, in order, with their descriptions.
        conversation: All messages.
        current_round: How many turns were given so far.
        last_speaker: Who had the last turn; None before the first.
    """

    participants: Mapping[str, str]
    conversation: tuple[ChatMessage, ...]
    current_round: int = 0
    last_speaker: str | None = None


SelectionFunc = Callable[[GroupChatState], str | Awaitable[str | None] | None]
"""Returns the name of the next speaker, or None to end the chat; sync or async."""

LLM_SELECTOR = (
    "You coordinate a conversation. Read it, and decide who speaks next. Answer with the name of one "
    "participant, exactly as it is written, and nothing else."
)
_STAGES = (("research",), ("writ", "synthes"), ("review",))
_CUT_CHARS = 8_000


def round_robin_selector(state: GroupChatState) -> str:
    """Return the participants in turn, in their order."""
    names = list(state.participants)
    return names[state.current_round % len(names)]


def smart_selector(state: GroupChatState) -> str:
    """Choose by content, for participants that research, write and review.

    Their names contain ``research``, ``writ`` or ``synthes``, and ``review``. The researcher begins, and
    continues until it says ``research complete``. Then the writer writes, and the reviewer reviews. A review
    with ``research`` goes back to the researcher, any other one to the writer. Without such names it is
    :func:`round_robin_selector`.
    """
    researcher, writer, reviewer = (_named_like(state.participants, words) for words in _STAGES)
    first = researcher or writer
    if first is None:
        return round_robin_selector(state)
    said = [one for one in state.conversation if one.role is ChatRole.ASSISTANT]
    if state.last_speaker is None or not said:
        return first
    words = said[-1].text.casefold()
    after_writing = reviewer or researcher or first
    if state.last_speaker == writer:
        return after_writing
    if state.last_speaker == reviewer:
        return first if "research" in words else writer or first
    return (
        writer or after_writing if "research complete" in words or state.last_speaker != researcher else first
    )


def no_repeat_selector(base: SelectionFunc) -> SelectionFunc:
    """Return a selector that never gives one participant two turns in a row.

    Args:
        base: Chooses; if it repeats the last speaker, the next one in order speaks.
    """

    async def choose(state: GroupChatState) -> str | None:
        found = base(state)
        name = await found if inspect.isawaitable(found) else found
        if name is None or name != state.last_speaker:
            return name
        if len(state.participants) < 2:
            raise SelectorMisfitError(
                f"no_repeat_selector needs two participants, but {name!r} is alone in the chat"
            )
        return name_after(list(state.participants), name)

    return choose


def llm_selector(model: LLMAdapter | str, instructions: str = LLM_SELECTOR) -> SelectionFunc:
    """Return a selector that asks a model.

    The model is asked again once if it names no participant, or several; then the next one in order speaks.
    Its use is not part of the result's ``usage``; the use of ``with_orchestrator_agent`` is.

    Args:
        model: The model, or its name.
        instructions: For the model.
    """
    adapter = as_model(model)

    async def choose(state: GroupChatState) -> str:
        prompt = selection_prompt(state)
        names = list(state.participants)
        reply = await adapter.generate(instructions, prompt)
        found = name_in(reply, names)
        if found is None:
            again = f"{prompt}\n\nYou answered {reply[:200]!r}. Answer with one of: {', '.join(names)}."
            found = name_in(await adapter.generate(instructions, again), names)
        return found or name_after(names, state.last_speaker)

    return choose


def selection_prompt(state: GroupChatState) -> str:
    """Return the question who speaks next, for a model: the last part of the conversation is in it."""
    people = "\n".join(f"- {name}{words and f': {words}'}" for name, words in state.participants.items())
    said = transcript(state.conversation)
    begun = "..." if len(said) > _CUT_CHARS else ""
    last = f"{state.last_speaker} spoke last. " if state.last_speaker else ""
    return f"Conversation:\n{begun}{said[-_CUT_CHARS:]}\n\nParticipants:\n{people}\n\n{last}Who speaks next?"


def name_in(reply: str, names: Sequence[str]) -> str | None:
    """Return the name that a reply is, or the only one that it contains."""
    folded = {name.casefold(): name for name in names}
    whole = reply.strip().strip("\"'`*.:<>[]() ").casefold()
    if whole in folded:
        return folded[whole]
    letters = (char if char.isalnum() or char in "_-" else " " for char in reply.casefold())
    words = "".join(letters).split()
    contained = [name for key, name in folded.items() if key in words]
    return contained[0] if len(contained) == 1 else None


def name_after(names: Sequence[str], last: str | None) -> str:
    """Return the name after the last one, in order; the first name without a last one."""
    return names[(names.index(last) + 1) % len(names)] if last in names else names[0]


def _named_like(participants: Mapping[str, str], words: Sequence[str]) -> str | None:
    return next((name for name in participants if any(word in name.casefold() for word in words)), None)
