"""Addresses as they may be shown, and the project that somebody chose."""

from __future__ import annotations

import pytest

from agentic.core.masking import mask_known
from agentic.core.settings import load_settings, safe_text, safe_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:hidden@host:6379/0", "redis://host:6379/0"),
        ("redis://:hid/den@host:6379/0", "redis://host:6379/0"),
        ("nats://ada:hid/den@7d@host:4222", "nats://host:4222"),
        ("https://ada:hid?den#7d@host/a", "https://host/a"),
        ("https://host/a?key=hidden", "https://host/a"),
        ("https://host/a#access_token=hidden", "https://host/a"),
        ("https://host:8443/@ada/posts", "https://host:8443/@ada/posts"),
        ("https://[::1]:8443/@ada", "https://[::1]:8443/@ada"),
        ("https://host/a", "https://host/a"),
        ("sqlite:////tmp/data@home.db", "sqlite:////tmp/data@home.db"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert safe_url(url) == shown


@pytest.mark.parametrize("password", ["hidden", "hid;den", "hid,den)7d", "hid/den"])
def test_addresses_in_a_text_are_shown_so_too(password: str) -> None:
    text = f"Cannot connect to redis://:{password}@host:6379/0, nor (https://host/a?b=c)."
    assert safe_text(text) == "Cannot connect to redis://host:6379/0, nor (https://host/a)."


def test_passwords_of_settings_are_known_once_they_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_BROKER_URL", "redis://:broker-7d/zebra@host/0")
    load_settings()
    assert "zebra" not in mask_known("auth failed for broker-7d/zebra")


def test_a_project_is_chosen_when_somebody_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTIC_PROJECT", raising=False)
    assert load_settings().chosen_project is None
    monkeypatch.setenv("AGENTIC_PROJECT", "default")
    assert load_settings().chosen_project == "default"
