"""Addresses as they may be shown, and the project that somebody chose."""

from __future__ import annotations

import pytest

from agentic.core.errors import SettingsError
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


@pytest.mark.parametrize("name", ["AGENTIC_USER", "agentic_user", "Agentic_User"])
def test_a_variable_is_read_in_upper_and_lower_case(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "ada")
    assert load_settings().user == "ada"
    assert load_settings(user="bob").user == "bob"


@pytest.mark.parametrize("text", ['["web", "feed"]', ' ["web","feed"] '])
def test_a_list_is_read_as_json(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("AGENTIC_DISABLED_PLUGINS", text)
    assert load_settings().disabled_plugins == ("web", "feed")


@pytest.mark.parametrize("text", ["web,feed", "", "[web]", "3", '{"web": 1}', "[1]"])
def test_a_list_that_is_none_is_refused_without_its_value(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("AGENTIC_DISABLED_PLUGINS", text)
    with pytest.raises(SettingsError, match="AGENTIC_DISABLED_PLUGINS") as refused:
        load_settings()
    assert not text or text not in str(refused.value)


def test_numbers_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_LEASE_S", "0.5")
    with pytest.raises(SettingsError, match="AGENTIC_LEASE_S: Input should be greater"):
        load_settings()
