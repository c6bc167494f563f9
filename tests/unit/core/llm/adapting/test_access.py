"""A key goes to the host it was set for, and to no other one."""

from __future__ import annotations

import pytest

from agentic.core.llm import MissingKeyError
from agentic.core.llm.adapting import ProviderHome, find_access, is_private_host, own_headers
from agentic.core.masking import mask_known

HOME = ProviderHome(
    provider="acme",
    url="https://api.acme.test/v1",
    url_variables=("ACME_URL",),
    key_variables=("ACME_KEY", "OLD"),
)


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ACME_URL", "ACME_KEY", "OLD"):
        monkeypatch.delenv(name, raising=False)


def test_the_key_of_the_environment_goes_to_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLD", "sk-from-env")
    access = find_access(HOME, api_key=None, base_url=None)
    assert (access.url, access.key, access.is_home) == (HOME.url, "sk-from-env", True)
    assert "sk-from-env" not in repr(access)
    assert "sk-from-env" not in mask_known("a log line with sk-from-env")


def test_the_key_of_the_environment_goes_to_the_address_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACME_KEY", "sk-from-env")
    monkeypatch.setenv("ACME_URL", "https://proxy.test/acme")
    access = find_access(HOME, api_key=None, base_url=None)
    assert (access.url, access.key, access.is_home) == ("https://proxy.test/acme", "sk-from-env", False)


def test_the_key_of_the_environment_goes_to_no_other_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_KEY", "sk-from-env")
    with pytest.raises(
        MissingKeyError, match=r"pass api_key=\.\.\. for else.test \(ACME_KEY or OLD is sent"
    ) as caught:
        find_access(HOME, api_key=None, base_url="https://else.test/v1")
    assert caught.value.host == "else.test"
    assert find_access(HOME, api_key=None, base_url="http://localhost:8000/v1").key is None
    assert find_access(HOME, api_key="mine", base_url="https://else.test/v1").key == "mine"


def test_the_key_of_the_environment_is_not_sent_without_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_KEY", "sk-from-env")
    with pytest.raises(MissingKeyError, match=r"for api.acme.test \(ACME_KEY or OLD .* over https\)"):
        find_access(HOME, api_key=None, base_url="http://api.acme.test/v1")
    monkeypatch.setenv("ACME_URL", "http://api.acme.test/v1")
    assert find_access(HOME, api_key=None, base_url=None).key == "sk-from-env"


def test_headers_of_the_environment_go_where_its_key_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_URL", "https://proxy.test/acme")
    monkeypatch.setenv("ACME_HEADERS", "X-Team: red\nAUTHORIZATION: Basic abc\nno header")
    for url in (HOME.url, "https://proxy.test/acme"):
        assert own_headers(find_access(HOME, api_key="x", base_url=url), "ACME_HEADERS", None) == {}
    other = find_access(HOME, api_key="mine", base_url="https://else.test/v1")
    assert own_headers(other, "ACME_HEADERS", None) == {"X-Team": None, "AUTHORIZATION": "Bearer mine"}
    private = find_access(HOME, api_key=None, base_url="http://localhost/v1")
    assert own_headers(private, "ACME_HEADERS", None) == {"X-Team": None, "AUTHORIZATION": None}


def test_a_password_in_a_base_url_is_not_shown() -> None:
    with pytest.raises(ValueError, match="is not a URL") as caught:
        find_access(HOME, api_key="x", base_url="ftp://me:hunter2hunter2@x.test")
    assert "hunter2hunter2" not in str(caught.value)


def test_without_a_key_the_variables_are_named() -> None:
    with pytest.raises(MissingKeyError, match="set ACME_KEY or OLD, or pass"):
        find_access(HOME, api_key=None, base_url=None)
    with pytest.raises(MissingKeyError):
        find_access(HOME, api_key="", base_url=None)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x.test", "http://", "http://[", "/v1"])
def test_a_base_url_that_is_none_is_named(url: str) -> None:
    with pytest.raises(ValueError, match=r"is not a URL; write it as 'https://api.acme.test/v1'"):
        find_access(HOME, api_key="x", base_url=url)


@pytest.mark.parametrize(
    ("host", "is_private"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("10.1.2.3", True),
        ("192.168.0.9", True),
        ("ollama", True),
        ("gpu.internal", True),
        ("8.8.8.8", False),
        ("api.openai.com", False),
        ("localhost.example.com", False),
        ("2001:4860:4860::8888", False),
    ],
)
def test_private_hosts_are_those_of_this_machine_and_network(host: str, is_private: bool) -> None:
    assert is_private_host(host) is is_private
