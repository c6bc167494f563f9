"""Environments into which wheels were installed, and nothing else of this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tests.packages import COMMAND, uv_environment

REPOSITORY = Path(__file__).resolve().parents[2]
CONSTRAINTS = REPOSITORY / "constraints.txt"

UNCOMPILED = {"PIP_COMPILE": "0"}
"""Has pip leave it to Python to compile what is imported: a small part of all modules."""

CHECKED_ONCE = {"MYPY_CACHE_DIR": str(REPOSITORY / ".mypy_cache" / "wheels")}
"""What mypy learns of libraries it learns once for all environments: it knows them by their text."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A fresh environment with wheels, and an empty folder to work in."""

    environment: Path
    home: Path

    def run(self, command: str, *arguments: str, code: int = 0, timeout_s: float = 120) -> str:
        """Run an installed command as a user would; return what it printed."""
        done = subprocess.run(
            [str(self.environment / "bin" / command), *arguments],
            cwd=self.home,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "AGENTIC_HOME": str(self.home / "state"),
                **CHECKED_ONCE,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        told = f"{command} {arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == code, told
        return done.stdout if code == 0 else done.stderr

    def agentic(self, *arguments: str, code: int = 0) -> str:
        return self.run("agentic", *arguments, code=code)


def resolved(folder: Path, *projects: Path, extras: str) -> Path:
    """Make an environment as users do: with what our wheel with these extras, and the others, ask for.

    Nothing is borrowed: a library that a wheel does not ask for is missing. It has the pip that we have.
    """
    environment = folder / "environment"
    ours, *others = built(folder, REPOSITORY, REPOSITORY / "fakes", *projects)
    uv("venv", "--python", sys.executable, str(environment))
    install(environment, f"{ours}[{extras}]", *map(str, others), f"pip=={version('pip')}")
    return environment


def install(environment: Path, *wanted: str) -> None:
    """Install into an environment what is wanted, and what that asks for."""
    uv("pip", "install", "--python", python_of(environment), "--constraint", str(CONSTRAINTS), *wanted)


def built(folder: Path, *projects: Path) -> list[Path]:
    """Build wheels of projects in a folder; return all that are there, ours first."""
    wheels = folder / "wheels"
    for project in projects:
        ours = ("--no-build-isolation", "--python", sys.executable)
        uv("build", "--wheel", *ours, "--out-dir", str(wheels), str(project))
    return sorted(wheels.glob("*.whl"), key=lambda wheel: "agentic_pipelines" not in wheel.name)


def python_of(environment: Path) -> str:
    return str(environment / "bin" / "python")


def uv(*arguments: str) -> None:
    """Run uv, which asks the places that pip asks, and takes a tenth of its time."""
    command = [*COMMAND, *arguments]
    done = subprocess.run(
        command, env=uv_environment(), capture_output=True, text=True, check=False, timeout=200
    )
    told = f"uv failed; is a package index within reach?\n{' '.join(command)}\n{done.stderr}"
    assert done.returncode == 0, told
