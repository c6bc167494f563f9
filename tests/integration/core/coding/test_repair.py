from __future__ import annotations

import pytest

from agentic.core.coding import (
    GeneratorInput,
    LintValidator,
    RepairEnd,
    RepairEngine,
    RepairResult,
    SandboxValidator,
    TestValidatorExecutor,
)
from agentic.core.llm import ScriptedModel

pytestmark = pytest.mark.integration

TESTS = "from main import double\n\n\ndef test_it():\n    assert double(2) == 4\n"


def block(code: str, language: str = "python") -> str:
    return f"```{language}\n{code}```\n"


@pytest.mark.requirement("LG05", "LG08")
async def test_a_program_is_repaired_by_the_findings_of_real_tools(validator: SandboxValidator) -> None:
    drafts = [
        "def double(x)\n    return 2 * x\n",
        "def double(x):\n    return 3 * x\n",
        "def double(x):\n    return 2 * x\n",
    ]
    model = ScriptedModel([block(draft) for draft in drafts])
    engine = RepairEngine("repair", model, validator)
    run = await engine.workflow.run(GeneratorInput.new("Double a number", "python").with_tests(TESTS))
    result = run.output(RepairResult)
    assert (result.code, result.ended, result.rounds) == (drafts[2], RepairEnd.PASSED, 3)
    assert (result.test_count, result.tests_passed) == (1, 1)
    assert result.fingerprints == ("SyntaxError: expected _", "test _ assert # == #", "")
    assert "main.py:1:14 SyntaxError: expected ':'" in model.requests[1].messages[-1].text


@pytest.mark.requirement("LG05", "BE10")
async def test_a_linter_is_a_check_like_any_other(validator: SandboxValidator) -> None:
    good = "def double(x):\n    return 2 * x\n"
    model = ScriptedModel([block(f"import os\n\n\n{good}"), block(good)])
    checks = [
        TestValidatorExecutor("test", validator, tests=TESTS, yields_status=False),
        LintValidator("lint", validator, yields_status=False),
    ]
    run = await RepairEngine("repair", model, checks).workflow.run(GeneratorInput.new("Double", "python"))
    result = run.output(RepairResult)
    assert (result.code, result.check, result.fingerprints) == (
        good,
        "lint",
        ("F401: _ imported but unused", ""),
    )
