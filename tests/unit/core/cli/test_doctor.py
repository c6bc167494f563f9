"""What the doctor finds without a server."""

from __future__ import annotations

import pytest

from agentic.core.cli.doctor import misspelt_settings


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AGENTIC_DATABASE", "AGENTIC_DATABASE_URL"),
        ("AGENTIC_DATABASE_URI", "AGENTIC_DATABASE_URL"),
        ("AGENTIC_LEASE", "AGENTIC_LEASE_S"),
        ("AGENTIC_LOGLEVEL", "AGENTIC_LOG_LEVEL"),
        ("AGENTIC_SECRET_KEY", "AGENTIC_SECRET_KEYS"),
    ],
)
def test_a_variable_that_is_nearly_a_setting_is_named_with_the_setting(name: str, meant: str) -> None:
    said = f"{name} is not a setting and has no effect; did you mean {meant}?"
    assert list(misspelt_settings([name, meant])) == [said]


@pytest.mark.parametrize(
    "name",
    ["AGENTIC_HOME", "AGENTIC_SECRET_KEYSTONE", "AGENTIC_FIRECRAWL_URL", "AGENTIC_SHOP_URL", "DATABASE_URL"],
)
def test_settings_secrets_and_variables_of_plugins_are_not_named(name: str) -> None:
    assert list(misspelt_settings([name])) == []
