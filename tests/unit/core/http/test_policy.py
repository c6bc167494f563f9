from __future__ import annotations

import pytest
from pydantic import ValidationError

from agentic.core.http import HttpPolicy


def test_the_user_agent_comes_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_USER_AGENT", "mybot/1.0 (+https://example.org)")
    assert HttpPolicy().user_agent == "mybot/1.0 (+https://example.org)"


@pytest.mark.requirement("PL39")
@pytest.mark.parametrize(
    "fields",
    [
        {"timeout_s": 0},
        {"max_bytes": -1},
        {"requests_per_second": 0},
        {"max_connections_per_host": 0},
        {"user_agent": "two\r\nlines"},
        {"user_agent": ""},
        {"allow_private_hosts": ("http://127.0.0.1:8000/",)},
        {"allow_private_hosts": ("",)},
        {"timeout": 3},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(fields))):
        HttpPolicy.model_validate(fields)
