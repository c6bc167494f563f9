from __future__ import annotations

import pytest

from agentic.core.agents import ChatAgent
from agentic.core.coding import CodeInterpreter, CodingError, SandboxValidator
from agentic.core.coding.interpreter import MAX_OUTPUT_CHARS
from agentic.core.llm import ScriptedModel, ToolCall
from agentic.core.sandbox import SandboxLimits
from agentic.core.types import JSONValue

pytestmark = [pytest.mark.integration, pytest.mark.requirement("TO03")]


async def read(interpreter: CodeInterpreter, **arguments: JSONValue) -> JSONValue:
    """Return the content that a model reads after a call."""
    call = ToolCall(id="1", name=interpreter.name, arguments=arguments)
    response = await ChatAgent(ScriptedModel([call, "Done."]), tools=[interpreter]).run("go")
    return response.messages[1].tool_results[0].content


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "import sys\nprint(6 * 7)\nprint('careful', file=sys.stderr)"),
        ("typescript", "const n: number = 7;\nconsole.log(6 * n);\nconsole.error('careful');"),
    ],
)
async def test_an_agent_reads_the_output_of_its_program(
    validator: SandboxValidator, language: str, code: str
) -> None:
    interpreter = CodeInterpreter(validator.sandbox, language)
    assert await read(interpreter, code=code) == {
        "result": "it ended with exit code 0",
        "stdout": "42\n",
        "stderr": "careful\n",
    }


async def test_a_program_that_fails_or_takes_too_long_is_a_result(validator: SandboxValidator) -> None:
    failed = await read(CodeInterpreter(validator.sandbox), code="1 / 0")
    assert isinstance(failed, dict)
    assert failed["result"] == "it ended with exit code 1"
    assert "ZeroDivisionError" in str(failed["stderr"])
    interpreter = CodeInterpreter(validator.sandbox, limits=SandboxLimits(time_s=0.5))
    assert "longer than its limit of time" in str(await read(interpreter, code="while True: pass"))
    assert "0.5 seconds" in interpreter.description


async def test_of_a_long_output_the_end_is_read(validator: SandboxValidator) -> None:
    found = await read(CodeInterpreter(validator.sandbox), code="print('a' * 20_010 + 'the end')")
    assert isinstance(found, dict)
    text = str(found["stdout"])
    assert text.startswith("(18 characters left out)\naaa")
    assert text.endswith("the end\n")
    assert len(text) < MAX_OUTPUT_CHARS + 50


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "run_code takes one text, 'code', and nothing else"),
        ({"code": 1}, "run_code takes one text"),
        ({"code": "print()", "more": 1}, "run_code takes one text"),
        ({"code": "print('\ud800')"}, "surrogates"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_to_the_model(
    validator: SandboxValidator, arguments: dict[str, JSONValue], told: str
) -> None:
    assert told in str(await read(CodeInterpreter(validator.sandbox), **arguments))


def test_a_language_without_programs_is_refused(validator: SandboxValidator) -> None:
    with pytest.raises(CodingError, match="programs in 'rust' cannot be run by a tool"):
        CodeInterpreter(validator.sandbox, "rust")
