"""Environments of the peers: apart from the project's own, so that no version of theirs binds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.bench.measuring import HOME, Figures

PEERS: dict[str, tuple[str, ...]] = {
    "maf": (
        "agent-framework-core",
        "agent-framework-orchestrations",
        "agent-framework-a2a",
        "agent-framework-ag-ui",
        "agent-framework-hosting-responses",
        "agent-framework-monty",
        "mcp",
        "tenacity",
    ),
    "langgraph": (
        "langgraph",
        "langgraph-checkpoint-sqlite",
        "langgraph-supervisor",
        "langgraph-swarm",
        "langchain-mcp-adapters",
    ),
    "langchain": ("langchain",),
    "openai_agents": ("openai-agents",),
    "pydantic_ai": ("pydantic-ai-slim[mcp,ag-ui]", "fasta2a"),
    "scrapy": ("scrapy",),
    "crawlee": ("crawlee[parsel,sql-sqlite]",),
}


def python_of(peer: str) -> Path:
    """Return the interpreter of a peer's environment, which is made first if there is none.

    Raises:
        subprocess.CalledProcessError: It cannot be installed; pip has said why.
    """
    folder = HOME.resolve() / peer
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    complete = folder / "complete"
    packages = "\n".join(PEERS[peer])
    if not complete.exists() or complete.read_text() != packages:
        sys.stderr.write(f"installing {', '.join(PEERS[peer])} into {folder}\n")
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PEERS[peer]], check=True)
        complete.write_text(packages)
    return python


def run_figures(python: Path, module: str, arguments: Sequence[str]) -> Figures:
    """Run a module of this checkout that measures something, and return what it found.

    Raises:
        RuntimeError: It failed.
    """
    figures: Figures = json.loads(run_module(python, module, arguments))
    return figures


def run_module(python: Path, module: str, arguments: Sequence[str]) -> str:
    """Run a module of this checkout and return the last line it wrote.

    Raises:
        RuntimeError: It failed.
    """
    # Without compiled files an import is measured that no user sees.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [python, "-m", module, *arguments], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise RuntimeError(f"{module} {' '.join(arguments)} failed:\n{done.stderr.strip()}")
    return done.stdout.strip().splitlines()[-1]
