from __future__ import annotations

import sys

import pytest
from pydantic import ValidationError

from agentic.core.http import HttpPolicy, MissingTransportError, open_transport


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
        {"cache": "always"},
        {"cache": {"max_age_s": -1}},
        {"transport": "wget"},
        {"proxy": "127.0.0.1:3128"},
        {"proxy": "${secrets.key\u017f}"},
        {"proxy": "${secrets.keys}"},
        {"proxy": "http://proxy.example"},
        {"proxy": "ftp://proxy.example:21"},
        {"proxy": "http://[::1:80"},
        {"proxies": ["proxy.example:3128"]},
        {"proxies": "ftp://proxy.example:21"},
        {"proxies": ["${secrets.keys}"]},
        {"proxies": ["${secrets.EU}", "${secrets.EU}"]},
        {"proxies": ["${secrets.EU}"], "proxy": "${secrets.US}"},
        {"rotation": "backwards"},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(fields))):
        HttpPolicy.model_validate(fields)


@pytest.mark.requirement("PL41")
@pytest.mark.parametrize(
    "fields",
    [
        {"proxy": "me:hunter2@proxy.example:3128"},
        {"proxy": "http://me:hunter2@proxy.example:99999"},
        {"proxy": "socks5://me:hunter2@proxy.example:1080"},
        {"proxies": ["${secrets.EU}", "me:hunter2@proxy.example:3128"]},
        {"proxies": "socks5://me:hunter2@proxy.example:1080"},
        {"proxies": ["http://me:hunter2@proxy.example:3128"] * 2},
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as caught:
        HttpPolicy.model_validate(fields)
    assert "hunter2" not in str(caught.value)


def test_several_proxies_are_shown_as_their_secrets_only() -> None:
    given = ["${secrets.EU}", "http://me:hunter2@proxy.example:3128"]
    policy = HttpPolicy.model_validate({"proxies": given, "rotation": "random"})
    assert policy.model_dump(mode="json")["proxies"] == ["${secrets.EU}", "**********"]
    assert "hunter2" not in f"{policy!r} {policy.model_dump_json()}"
    one = HttpPolicy.model_validate({"proxies": "${secrets.EU}"})
    assert HttpPolicy.model_validate_json(one.model_dump_json()) == one


@pytest.mark.parametrize("transport", ["aiohttp", "httpx2"])
def test_a_socks_proxy_needs_a_transport_that_knows_it(transport: str) -> None:
    proxy = "socks5://me:hunter2@proxy.example:1080"
    policy = HttpPolicy.model_validate({"proxy": proxy, "transport": "curl_cffi"})
    assert "hunter2" not in f"{policy!r} {policy.model_dump_json()}"
    with pytest.raises(ValidationError, match=f"{transport} does not support socks5"):
        HttpPolicy.model_validate({"proxy": proxy, "transport": transport})


@pytest.mark.parametrize(("transport", "extra"), [("httpx2", "httpx2"), ("curl_cffi", "curl")])
def test_a_transport_that_is_not_installed_says_how_to_install_it(
    transport: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("httpcore2", "curl_cffi"):
        monkeypatch.setitem(sys.modules, module, None)
    for module in ("httpx2_transport", "curl_transport"):
        monkeypatch.delitem(sys.modules, f"agentic.core.http.transports.{module}", raising=False)
    with pytest.raises(MissingTransportError, match=rf"pip install 'agentic-pipelines\[{extra}\]'") as caught:
        open_transport(HttpPolicy.model_validate({"transport": transport}))
    assert isinstance(caught.value, ImportError)
