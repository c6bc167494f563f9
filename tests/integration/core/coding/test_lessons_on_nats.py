from __future__ import annotations

from pathlib import Path

import pytest

from agentic.core.bus.nats.bus import NatsBus
from agentic.core.coding import (
    GeneratorInput,
    KvLessons,
    RepairEngine,
    RepairResult,
    SandboxValidator,
    lesson_bucket,
)
from agentic.core.llm import FunctionModel, ModelRequest
from agentic.core.services import ServiceSupervisor, nats_service

pytestmark = [pytest.mark.integration, pytest.mark.requirement("LE01", "LE02", "LE04")]

TESTS = "from main import double\n\n\ndef test_it():\n    assert double(2) == 4\n"
CHANGE = "-def double(x)\n+def double(x):"


def learner(request: ModelRequest) -> str:
    """Forget the colon in a first draft, unless a lesson shows it."""
    text = request.messages[-1].text
    return f"def double(x){':' * (CHANGE in text or 'Attempt 1' in text)}\n    return 2 * x\n"


async def test_the_second_run_in_another_process_needs_one_draft_less(
    validator: SandboxValidator, tmp_path: Path
) -> None:
    """By the finding of a real compiler, over a real server."""
    task = GeneratorInput.new("Double a number", "python").with_tests(TESTS)
    rounds = []
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        for project in ("shop", "shop", "other"):
            bus = NatsBus(supervisor.urls["nats"])
            lessons = KvLessons(lesson_bucket(bus, project))
            engine = RepairEngine("repair", FunctionModel(learner), validator, lessons=lessons)
            rounds.append((await engine.workflow.run(task)).output(RepairResult).rounds)
            if rounds == [2]:
                (known,) = await lessons.find("python", [])
                assert (known.cause, known.change) == ("SyntaxError: expected _", CHANGE)
            await bus.aclose()
    assert rounds == [2, 1, 2]
