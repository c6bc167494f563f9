from __future__ import annotations

import pytest

from agentic.core.errors import SettingsError
from agentic.executors.schedule import every


@pytest.mark.requirement("BR07")
def test_an_entry_names_the_task_the_agent_and_when() -> None:
    assert every(60, agent="top", project="news") == {
        "task": "agentic.start_agent",
        "schedule": 60.0,
        "args": ("top", "news"),
        "options": {"expires": 60.0},
    }


def test_an_interval_of_nothing_is_refused() -> None:
    with pytest.raises(SettingsError, match="never fires"):
        every(0, agent="top")
