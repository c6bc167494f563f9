"""Programs that submit runs: they follow the page on durable runs, and end without a word."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.commands import start_program

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[4] / "docs/how-to/durable-runs.md"
BLOCKED = re.compile(r"loop\.(un)?blocked")

FLOWS = """
import asyncio
from agentic.core import WorkflowBuilder, executor

@executor(id="price")
async def price(order: str) -> str:
    if order == "slow":
        await asyncio.sleep(60)
    return order

def prices():
    return WorkflowBuilder("prices", version="1").set_start(price).build()
"""


class Shop:
    """A folder with the workflow that the page names, and a new database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "shop").mkdir()
        (folder / "shop" / "flows.py").write_text(FLOWS)
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")},
            "AGENTIC_HOME": str(folder),
            "AGENTIC_DATABASE_URL": f"sqlite:///{folder}/runs.db",
            "AGENTIC_WORKFLOW_MODULES": '["shop"]',
            "AGENTIC_DISPATCHER": "local",
            # Nobody listens there: to submit needs the database alone.
            "AGENTIC_BROKER_URL": "redis://127.0.0.1:9/0",
            "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program to its end."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=60, check=False
        )
        return unhurried(done)

    def python(self, program: str) -> subprocess.CompletedProcess[str]:
        """Run a Python program."""
        return self.run(sys.executable, "-W", "default", "-c", textwrap.dedent(program))

    def forked(self, program: str) -> subprocess.CompletedProcess[str]:
        """Run a Python program in a process that is forked: it ends in the same way."""
        text = 'import warnings\nwarnings.simplefilter("default")\n' + textwrap.dedent(program)
        process = start_program(text, [], self.env, self.folder)
        out, err = process.communicate(timeout=60)
        return unhurried(subprocess.CompletedProcess("python", process.returncode, out, err))


def unhurried(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Return what a program printed, but for a loop that was blocked: by imports, on a slow machine."""
    done.stdout, done.stderr = (
        "".join(line for line in text.splitlines(keepends=True) if not BLOCKED.search(line))
        for text in (done.stdout, done.stderr)
    )
    return done


def blocks(language: str) -> list[str]:
    """Return the code blocks of the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_works_on_a_new_database_as_it_is_written(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    commands = "\n".join(line for line in blocks("sh")[0].splitlines() if "DATABASE_URL" not in line)
    done = shop.run("sh", "-ec", commands)
    assert done.returncode == 0, done.stderr
    program = blocks("python")[0] + '\nbegin("o-1")\nfrom agentic.executors.runs import current_client\n'
    program += "(run,) = [begin('o-1')]\nprint(current_client().handle(run).result(30).outputs)\n"
    done = shop.python(program)
    assert (done.returncode, done.stdout) == (0, "('o-1',)\n"), done.stderr


PROGRAMS = {
    "and waits": "print(submit('shop.flows:prices', 'o-1').result(30).outputs)",
    "and goes": "submit('shop.flows:prices', 'o-1')",
    "and leaves it at work": "submit('shop.flows:prices', 'slow'); import time; time.sleep(0.3)",
    "inside a loop": """
        import asyncio
        async def main(): submit('shop.flows:prices', 'o-1')
        asyncio.run(main())
    """,
    "what it should not": """
        try: submit('shop.flows:prices', 5)
        except Exception as error: pass
    """,
    "what is not there": """
        try: submit('shop.flows:nothing', 'o-1')
        except Exception as error: pass
    """,
}


@pytest.fixture
def shop(tmp_path: Path, first_file: Path) -> Shop:
    """A shop that submits runs to a database with all tables."""
    shutil.copy(first_file, tmp_path / "runs.db")
    return Shop(tmp_path)


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in PROGRAMS.items()])
def test_a_program_that_submits_ends_without_a_word(shop: Shop, program: str) -> None:
    done = shop.forked("from agentic.executors import submit\n" + textwrap.dedent(program))
    printed = "('o-1',)\n" if "print(" in program else ""
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_a_program_that_is_started_ends_without_a_word(shop: Shop) -> None:
    done = shop.python("from agentic.executors import submit\n" + PROGRAMS["and leaves it at work"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_program_that_submits_for_workers_ends_with_a_word_on_the_broker_alone(shop: Shop) -> None:
    shop.env["AGENTIC_DISPATCHER"] = "celery"
    done = shop.forked("from agentic.executors import submit\nsubmit('shop.flows:prices', 'o-1')")
    assert done.returncode == 0
    said = (done.stdout + done.stderr).splitlines()
    assert [line for line in said if "dispatch.failed" not in line] == []
