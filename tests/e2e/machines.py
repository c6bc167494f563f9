"""Environments into which wheels were installed, and nothing else of this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CONSTRAINTS = REPOSITORY / "constraints.txt"

UNCOMPILED = {"PIP_COMPILE": "0"}
"""Has pip leave it to Python to compile what is imported: a small part of all modules."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A fresh environment with wheels, and an empty folder to work in."""

    environment: Path
    home: Path

    def run(self, command: str, *arguments: str, code: int = 0) -> str:
        """Run an installed command as a user would; return what it printed."""
        done = subprocess.run(
            [str(self.environment / "bin" / command), *arguments],
            cwd=self.home,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "AGENTIC_HOME": str(self.home / "state"),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        told = f"{command} {arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == code, told
        return done.stdout if code == 0 else done.stderr

    def agentic(self, *arguments: str, code: int = 0) -> str:
        return self.run("agentic", *arguments, code=code)


def installed(folder: Path, *projects: Path) -> Path:
    """Make an environment in a folder with the wheels of this project and of others; return its place.

    The libraries that they need are borrowed from the environment that this is run in.
    """
    environment = folder / "environment"
    wheels = built(folder, *projects)
    venv.create(environment)
    pip("--python", python_of(environment), "install", "--no-index", "--no-deps", *map(str, wheels))
    # Only now: pip would take what is borrowed for installed. Our own editable installation is not seen
    # through it, as a .pth file is read in the environment's own folder alone.
    site = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    return environment


def resolved(folder: Path, *projects: Path, extras: str) -> Path:
    """Make an environment as users do: pip finds what our wheel with these extras, and the others, ask for.

    Nothing is borrowed: a library that a wheel does not ask for is missing.
    """
    environment = folder / "environment"
    ours, *others = built(folder, *projects)
    venv.create(environment, with_pip=True)
    wanted = [f"{ours}[{extras}]", *map(str, others)]
    pip("--python", python_of(environment), "install", "--constraint", str(CONSTRAINTS), *wanted)
    return environment


def built(folder: Path, *projects: Path) -> list[Path]:
    """Return the wheels of this project, its fakes and others."""
    for project in (REPOSITORY, REPOSITORY / "fakes", *projects):
        pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder / "wheels"), str(project))
    return sorted((folder / "wheels").glob("*.whl"), key=lambda wheel: "agentic_pipelines" not in wheel.name)


def python_of(environment: Path) -> str:
    return str(environment / "bin" / "python")


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    environment = {**os.environ, **UNCOMPILED}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=200)
    told = f"pip failed; is a package index within reach?\n{' '.join(command)}\n{done.stderr}"
    assert done.returncode == 0, told
