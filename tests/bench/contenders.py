"""Who is measured, and what is called for it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.bench.environments import PEERS, python_of

Contender = Literal[
    "ours",
    "maf",
    "langgraph",
    "langchain",
    "openai_agents",
    "pydantic_ai",
    "scrapy",
    "crawlee-memory",
    "crawlee-files",
    "crawlee-sql",
    "plain",
]

CONTENDERS: dict[Contender, str] = {
    "ours": "agentic",
    "maf": "MAF",
    "langgraph": "LangGraph",
    "langchain": "LangChain",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai",
    "scrapy": "Scrapy",
    "crawlee-memory": "Crawlee",
    "crawlee-files": "Crawlee, files",
    "crawlee-sql": "Crawlee, SQL",
    "plain": "no engine",
}

_OURS = {
    "bus": "bus",
    "durable": "durable",
    "mapper": "mappers",
    "place": "runs",
    "group": "runs",
    "waiting": "runs",
    "celery": "workers",
    "crawl": "crawls",
    "resume": "resumes",
    "turn": "agents",
    "agents": "agents",
    "chat": "patterns",
    "sandbox": "sandboxes",
    "coding": "coding",
}
"""Kind of a case -> the module that measures it; ``engine`` measures the others."""

_PLAIN = {"bus": "peers.plain_bus", "celery": "celery_tasks", "crawl": "peers.plain_crawl"}
"""The same without an engine; ``peers.plain`` measures the others."""


@dataclass(frozen=True, slots=True)
class Call:
    """A module that measures, the interpreter it needs, and the name it knows the case by."""

    python: Path
    module: str
    case: str


def call_of(contender: Contender, case: str) -> Call:
    """Return what measures a case of a contender; its environment is made first if there is none."""
    kind = case.partition("-")[0]
    here = Path(sys.executable)
    if contender == "ours":
        return Call(here, f"tests.bench.{_OURS.get(kind, 'engine')}", case)
    if contender == "plain":
        return Call(here, f"tests.bench.{_PLAIN.get(kind, 'peers.plain')}", case)
    if kind == "resume":  # one watches all of them from outside
        return Call(here, "tests.bench.resumes", contender)
    peer, _, variant = contender.partition("-")
    assert peer in PEERS
    module = "maf_agents" if peer == "maf" and _OURS.get(kind) in {"agents", "patterns"} else peer
    return Call(python_of(peer), f"tests.bench.peers.{module}", f"{case}-{variant}" if variant else case)
