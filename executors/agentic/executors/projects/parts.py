"""Compares the parts of a project's file with stored data: differences and faults."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentic.core.pipeline import Fault
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.types import JSONValue
from agentic.executors.agents.redaction import MASK
from agentic.executors.projects.files import SchedulePart
from agentic.executors.schedules.cron import ScheduleTimesError
from agentic.executors.schedules.times import check_timing, read_interval
from agentic.mappers import AgentModel, ScheduleModel
from agentic.mappers.catalog.schedules import Timing

_KEY = re.compile(r"[\w-]+(\.[\w-]+)*")


class FaultyPartError(Exception):
    """A part of the file cannot be used; the places of its faults are relative to that part."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__()
        self.faults = faults


def stand_of(agent: AgentModel) -> dict[str, object]:
    """Return an agent's values for a file, with one entry per config key, so that changes can be named."""
    config = {f"config.{key}": value for key, value in agent.config.items()}
    facts = {
        "platform": agent.agent_platform,
        "goals": agent.goals,
        "disabled": agent.disabled_at is not None,
    }
    return {**facts, **config}


def times_of(schedule: ScheduleModel) -> dict[str, object]:
    """Return a schedule's values for a file."""
    return {
        "agent": schedule.agent.agent_name,
        "cron": schedule.cron,
        "every_s": schedule.every_s,
        "timezone": schedule.timezone,
        "jitter_s": schedule.jitter_s,
        "catch_up": schedule.catch_up,
        "overlap": schedule.overlap,
        "paused": schedule.paused_at is not None,
    }


def timing_of(wanted: SchedulePart) -> Timing:
    """Return the timing of a schedule in the file.

    Raises:
        FaultyPartError: Its times cannot be used.
    """
    try:
        every_s = None if wanted.every is None else read_interval(wanted.every)
        timing: Timing = {
            "cron": None if wanted.cron is None else " ".join(wanted.cron.split()),
            "every_s": every_s,
            "timezone": wanted.timezone,
            "jitter_s": wanted.jitter_s,
            "catch_up": wanted.catch_up,
            "overlap": wanted.overlap,
        }
        check_timing(timing)
    except ScheduleTimesError as exc:
        raise FaultyPartError(Fault(message=str(exc), place=("cron" if wanted.cron else "every",))) from None
    return timing


def unmasked(
    value: JSONValue, known: JSONValue, place: ValuePath, missing: list[Fault], owner: str = "agent"
) -> JSONValue:
    """Return ``value`` with its masked secrets taken from the stored data; record missing ones.

    Args:
        value: A part of a config, or of a pipeline, in the file.
        known: The stored part, or None.
        place: Its place in the file.
        missing: Gets a fault for each masked secret that is not stored.
        owner: Its owner, for messages.
    """
    if isinstance(value, str) and MASK in value:
        if not _stands_for(value, known):
            message = (
                f"{MASK} stands for a hidden secret, but the {owner} has none there yet; enter it, or "
                "better a reference to a stored one"
            )
            missing.append(Fault(message=message, place=place))
        return known
    if isinstance(value, dict):
        inner = known if isinstance(known, dict) else {}
        return {
            key: unmasked(part, inner.get(key), (*place, key), missing, owner) for key, part in value.items()
        }
    if isinstance(value, list):
        row = known if isinstance(known, list) and len(known) == len(value) else [None] * len(value)
        parts = enumerate(value)
        return [unmasked(part, row[index], (*place, index), missing, owner) for index, part in parts]
    return value


def _stands_for(masked: str, known: JSONValue) -> bool:
    """Whether a text with masks equals the stored text, apart from the secrets."""
    if masked == MASK:
        return known is not None
    first, *others = masked.split(MASK)
    if not isinstance(known, str) or not known.startswith(first):
        return False
    place = len(first)
    for part in others[:-1]:
        found = known.find(part, place + 1)
        if found < 0:
            return False
        place = found + len(part)
    return known.endswith(others[-1]) and place < len(known) - len(others[-1])


def config_fault(text: str) -> Fault:
    """Return a platform's fault in a config, at the key that begins its text, if there is one."""
    key = text.partition(":")[0]
    return Fault(message=text, place=("config", *(_keys(key) if _KEY.fullmatch(key) else ())))


def _keys(text: str) -> Iterator[str | int]:
    for part in text.split("."):
        yield int(part) if part.isdecimal() else part
