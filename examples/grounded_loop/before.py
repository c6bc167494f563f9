"""Before: a supervisor, which has code written, compiled and tested in a loop."""

import argparse
import asyncio

from agentic.core.coding import (
    CompileValidatorExecutor,
    GeneratorInput,
    LLMGeneratorExecutor,
    Supervisor,
    TestValidatorExecutor,
    ValidationMode,
    ValidatorPipeline,
    language_tools,
)
from agentic.core.llm import LLMAdapter, ScriptedModel, llm
from agentic.core.sandbox import open_sandbox

TASK = "A function slug(title): lower case, words joined by one dash, no other signs."
TESTS = """\
from main import slug


def test_words_are_joined_by_one_dash():
    assert slug("Hello,  World!") == "hello-world"
"""
SCRIPT = [
    "```python\ndef slug(title)\n    return title.lower()\n```",
    "```python\ndef slug(title):\n    return title.lower().replace(' ', '-')\n```",
    "```python\nimport re\n\ndef slug(title):\n    return '-'.join(re.findall('[a-z]+', title.lower()))\n```",
]


async def run(model: LLMAdapter) -> None:
    """Run the loop: at most four attempts."""
    async with open_sandbox(language_tools()) as sandbox:
        compiler = CompileValidatorExecutor("compile", sandbox, tests=TESTS)
        test = TestValidatorExecutor("test", sandbox, tests=TESTS)
        result = await Supervisor(max_attempts=4).execute_with_validation(
            GeneratorInput.new(TASK, "python"),
            LLMGeneratorExecutor("write", model),
            ValidatorPipeline([compiler, test]),
            ValidationMode.FAIL_FAST,
        )
    print(*result.outputs, result.code, sep="\n")


async def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model; without it, a script answers")
    name = parser.parse_args().model
    async with llm(name) if name else ScriptedModel(SCRIPT) as model:
        await run(model)


if __name__ == "__main__":
    asyncio.run(main())
