"""The programs of the guides, against a server with the agent of the example."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path

import httpx2
import openai
import pytest
import yaml
from tests.serving import TOKEN, served

from agentic.core.settings import load_settings
from agentic.core.threads import in_thread
from agentic.executors.commands.shared.database import ready_database
from agentic.mappers import add_agent
from agentic.mappers.catalog.projects import ensure_project
from agentic.plugins.chat.settings import load_config

pytestmark = pytest.mark.integration

REPOSITORY = Path(__file__).parents[4]
EXAMPLE = REPOSITORY / "examples" / "support_agent"
GUIDES = REPOSITORY / "docs" / "how-to"
_PROGRAM = re.compile(r"```py\n# (\w+\.py)\n(.*?)```\n\n```console\n(.*?)```", re.DOTALL)

PROGRAMS = [
    (guide, name, program, output)
    for guide in ("serve-over-http.md", "connect-a-user-interface.md")
    for name, program, output in _PROGRAM.findall((GUIDES / guide).read_text(encoding="utf-8"))
]


def test_the_guides_have_programs() -> None:
    assert [name for _, name, _, _ in PROGRAMS] == ["talk.py", "chat.py", "events.py"]


@pytest.mark.requirement("AG24")
async def test_each_program_of_the_guides_prints_its_output(home: Path) -> None:
    folder = shutil.copytree(EXAMPLE, home.parent / "example")
    config = load_config(folder / "support.yaml")
    assert yaml.safe_load((folder / "support.yaml").read_text())["model"].startswith("scripted:")
    with ready_database(load_settings(home=home)).writing() as session:
        add_agent(session, ensure_project(session, "default"), "support", "chat", config)
    async with served(home) as server:
        for guide, name, program, output in PROGRAMS:
            printed = await in_thread(_run, program, server.url)
            assert printed.strip() == output.strip(), f"{guide}: {name}"


def _run(program: str, url: str) -> str:
    names: dict[str, object] = {"URL": url, "TOKEN": TOKEN}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "guide", "exec"), names)
    for client in names.values():
        if isinstance(client, (httpx2.Client, openai.OpenAI)):
            client.close()
    return out.getvalue()
