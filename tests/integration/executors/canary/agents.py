"""Every way in which a secret is used: as it should be, and by mistake."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from agentic.core.types import JSONValue

Step = Mapping[str, JSONValue]


@dataclass(frozen=True, slots=True)
class Canaries:
    """Secrets to be looked for.

    Attributes:
        stored: Was stored as it should be: nothing but the vault may hold it.
        literal: Was written into configs: nothing but what its author wrote, and what runs go on from, may.
        minted: Came in exchange for what was stored: nothing but the vault may hold it, either.
        sent: Was stored, and a graph sends it as a message: nothing but what runs go on from may hold it.
    """

    stored: str = 'hush/7d+Q"4\\zeb&ra=9k'
    literal: str = 'oops/3f+W"8\\cow&ard=2m'
    minted: str = "mint/5h+T-zow~4r=8n"
    sent: str = 'sent/6k+V"9\\pig&orb=4w'


def secrets(canaries: Canaries, site: str) -> dict[str, str]:
    """Return what is stored, by name."""
    password = quote(canaries.stored, safe="")
    form = {
        "strategy": "form",
        "login_url": f"{site}/login",
        "fields": {"user": "ada", "password": canaries.stored},
    }
    return {
        "CANARY": canaries.stored,
        "SENT": canaries.sent,
        "PROXY": f"http://ada:{password}@127.0.0.1:9",
        "SITE": json.dumps(form),
    }


def stored_agents(site: str) -> dict[str, dict[str, JSONValue]]:
    """Return the configs of web agents that name secrets, by name."""
    canary = "${secrets.CANARY}"
    host = site.removeprefix("http://")
    bearer: Step = {"strategy": "bearer", "token": canary, "hosts": [host]}
    basic: Step = {"strategy": "basic", "username": "ada", "password": canary, "hosts": [host]}
    oauth: Step = {"strategy": "oauth2", "client_id": "ada", "client_secret": canary}

    def told(login: Step, path: str) -> list[Step]:
        return [
            {"actor": "authenticate", "config": {"login": dict(login), "session": "s"}},
            {"actor": "fetch", "config": {"url": f"{site}{path}", "session": "s"}},
        ]

    header: dict[str, JSONValue] = {"X-Key": canary, "Cookie": f"k={canary}"}
    return {
        "bearer-refused": pipeline(told(bearer, "/says/401")),
        "bearer-sent-away": pipeline(told(bearer, "/away")),
        "basic-refused": pipeline(told(basic, "/says/401")),
        "basic-retried": pipeline(told(basic, "/says/500")),
        "form": pipeline(
            [
                {"actor": "authenticate", "config": {"platform": "SITE", "reuse": False}},
                {"actor": "fetch", "config": {"url": f"{site}/says/403"}},
            ]
        ),
        "oauth-refused": pipeline(told({**oauth, "token_url": f"{site}/says/401"}, "/echo")),
        "oauth": pipeline(told({**oauth, "token_url": f"{site}/token"}, "/says/401")),
        "header-echoed": pipeline([fetch(f"{site}/echo", headers=header)]),
        "header-refused": pipeline([fetch(f"{site}/says/404", headers=header)]),
        "header-sent-away": pipeline([fetch(f"{site}/away", headers=header)]),
        "header-timeout": pipeline([fetch(f"{site}/slow", headers=header, timeout_s=0.3)]),
        "query-echoed": pipeline([fetch(f"{site}/echo?key={canary}")], cache="revalidate"),
        "params-echoed": pipeline([fetch(f"{site}/echo", params={"key": canary})], cache="revalidate"),
        "query-refused": pipeline([fetch(f"{site}/says/500", params={"key": canary})]),
        "body-echoed": pipeline([fetch(f"{site}/echo", method="POST", json={"key": canary})]),
        "nowhere": pipeline([fetch(f"http://ada:{canary}@127.0.0.1:9/", headers=header)]),
        "no-url": pipeline([fetch(canary)]),
        "not-valid": pipeline([{"actor": "fetch", "config": {"url": f"{site}/echo", "method": canary}}]),
        "webhook": pipeline([hook(f"{site}/echo", canary)]),
        "webhook-refused": pipeline([hook(f"{site}/says/400", canary)]),
        "letters": pipeline(
            [
                {
                    "type": "loop", "id": "each", "source": "inputs.words", "collect": "page",
                    "item_as": "word",
                    "loop_steps": [fetch(f"{site}/says/404", headers=header, params={"q": "${word}"})],
                }
            ],
            inputs={"words": ["a", "b"]}, then="dead_letter",
        ),
        "proxy": pipeline([fetch("http://example.invalid/")], proxy="${secrets.PROXY}"),
        "proxies": pipeline([fetch("http://example.invalid/")], proxies="${secrets.PROXY}"),
        "form-sent-away": pipeline(
            [
                {"actor": "authenticate", "config": {"platform": "SITE", "reuse": False, "session": "f"}},
                {"actor": "fetch", "config": {"url": f"{site}/away", "session": "f"}},
            ]
        ),
        "crawl-minted": pipeline(
            [
                {
                    "actor": "authenticate",
                    "config": {"login": {**oauth, "token_url": f"{site}/mint"}, "session": "c"},
                },
                {
                    "type": "crawl",
                    "start": [f"{site}/away", f"{site}/says/403"],
                    "fetch": {"actor": "fetch", "config": {"session": "c"}},
                },
            ]
        ),
        "oauth-minted": pipeline(told({**oauth, "token_url": f"{site}/mint"}, "/away")),
        "github": {"repos": ["ada/one"], "token": canary, "base_url": f"{site}/says/401",
                   "allow_private_hosts": [host]},
        "github-denied": {"repos": ["ada/one"], "token": canary, "base_url": f"{site}/denied/403",
                          "allow_private_hosts": [host]},
        "github-partly": {"repos": ["ada/good", "ada/bad"], "token": canary, "base_url": f"{site}/hub",
                          "allow_private_hosts": [host]},
        "reddit-denied": {"mode": "oauth", "subreddits": ["python"], "client_id": "ada", "contact": "ada",
                          "client_secret": canary, "api_url": f"{site}/mint",
                          "base_url": f"{site}/denied/403", "allow_private_hosts": [host]},
        "firecrawl-denied": {"url": "https://shop.example/", "api_url": f"{site}/denied/403",
                             "api_key": canary, "http": {"allow_private_hosts": [host]}},
        "firecrawl-in-a-pipeline": pipeline(
            [
                {
                    "actor": "firecrawl_scrape",
                    "config": {"url": "https://shop.example/", "api_url": f"{site}/denied/403",
                               "api_key": canary},
                }
            ]
        ),
    }  # fmt: skip


def graph_agents(site: str) -> dict[str, dict[str, JSONValue]]:
    """Return the configs of agents of the careless graph, by name."""
    ways = ("raise", "chain", "items", "edge", "told", "send", "mint", "sub")
    host = site.removeprefix("http://")
    return {f"graph-{way}": {"way": way, "base_url": site, "allow_private_hosts": [host]} for way in ways}


def literal_agents(site: str, literal: str) -> dict[str, dict[str, JSONValue]]:
    """Return the configs of agents that have a secret in them, by name."""
    password = quote(literal, safe="")
    host = site.removeprefix("http://")
    url = f"http://ada:{password}@{host}"
    header: dict[str, JSONValue] = {"Authorization": f"Bearer {literal}"}
    login: dict[str, JSONValue] = {
        "strategy": "basic",
        "username": "ada",
        "password": literal,
        "hosts": [host],
    }
    return {
        "mistaken-header": pipeline([fetch(f"{site}/says/401", headers=header)]),
        "mistaken-url": pipeline([fetch(f"{url}/says/401")]),
        "mistaken-input": pipeline(
            [fetch(f"{site}/says/401", headers={"X-Key": "${inputs.api_key}"})], inputs={"api_key": literal}
        ),
        "mistaken-login": pipeline(
            [
                {"actor": "authenticate", "config": {"login": login, "session": "m"}},
                {"actor": "fetch", "config": {"url": f"{site}/says/401", "session": "m"}},
            ]
        ),
        "mistaken-webhook": pipeline([hook(f"{site}/says/400", literal)]),
    }  # fmt: skip


def careless_agents(literal: str) -> dict[str, dict[str, JSONValue]]:
    """Return the configs of agents of the careless platform, by name."""
    return {
        **{f"careless-{way}": {"token": literal, "way": way} for way in ("raise", "cause", "error", "tell")},
        "careless-password": {"api_password": literal, "way": "raise"},
        "careless-database": {
            "database": f"postgresql://ada:{quote(literal, safe='')}@host/db",
            "way": "raise",
        },
        "careless-kill": {"token": literal, "way": "kill"},
    }


def fetch(url: str, **config: JSONValue) -> dict[str, JSONValue]:
    """Return a step that fetches."""
    return {"actor": "fetch", "config": {"url": url, **config}}


def hook(url: str, secret: str) -> dict[str, JSONValue]:
    """Return a step that tells a service."""
    config: dict[str, JSONValue] = {
        "url": url,
        "payload": {"a": 1},
        "secret": secret,
        "headers": {"X-Token": secret},
    }
    return {"actor": "webhook", "config": config}


def pipeline(
    steps: Sequence[Step],
    *,
    inputs: dict[str, JSONValue] | None = None,
    then: str | None = None,
    **http: JSONValue,
) -> dict[str, JSONValue]:
    """Return the config of a web agent."""
    rules: dict[str, JSONValue] = {"http_5xx": {"retry_count": 1, "backoff_s": 0.01}}
    if then is not None:
        rules["http_404"] = {"then": then}
    declared = {
        name: {"type": "list" if isinstance(value, list) else "string", "default": value}
        for name, value in (inputs or {}).items()
    }
    return {
        "pipeline": {
            "name": "canary",
            "inputs": {**declared},
            "http": {"allow_private_hosts": ["127.0.0.1"], "obey_robots": False, "timeout_s": 5, **http},
            "error_handling": rules,
            "steps": [dict(step) for step in steps],
        },
        "inputs": inputs or {},
    }
