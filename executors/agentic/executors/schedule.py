"""Entries for ``beat_schedule`` in a ``celeryconfig.py``."""

from __future__ import annotations

from agentic.core.errors import SettingsError

START_AGENT = "agentic.start_agent"


def every(seconds: float, *, agent: str, project: str = "default") -> dict[str, object]:
    """Return a ``beat_schedule`` entry that runs an agent repeatedly.

    A firing is dropped if no worker has taken it when the next is due, so that a returning worker does not
    run the agent many times at once.

    Args:
        seconds: Time from one firing to the next.
        agent: Name or id of the agent.
        project: The project it belongs to.

    Raises:
        SettingsError: ``seconds`` is not above zero.
    """
    if seconds <= 0:
        raise SettingsError(f"every({seconds!r}) never fires; give the seconds from one run to the next")
    return {
        "task": START_AGENT,
        "schedule": float(seconds),
        "args": (agent, project),
        "options": {"expires": float(seconds)},
    }
