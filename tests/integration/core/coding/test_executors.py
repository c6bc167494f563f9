from __future__ import annotations

from itertools import pairwise

import pytest

from agentic.core.coding import (
    AssembledCode,
    AssemblyInput,
    ChildFailedError,
    CodeAssemblerExecutor,
    CodePart,
    CodeToValidate,
    CompileInput,
    CompileOutput,
    CompileValidatorExecutor,
    GeneratedCode,
    GenerationRequest,
    GeneratorInput,
    LintOutput,
    LintValidator,
    LLMGeneratorExecutor,
    MixedLanguagesError,
    NoCodeError,
    SandboxRun,
    SandboxRunner,
    SandboxValidator,
    SubTaskRequest,
    SubTaskResult,
    SubWorkflowExecutor,
    SubWorkflowInput,
    SubWorkflowOutput,
    TestInput,
    TestOutput,
    TestValidatorExecutor,
    ValidationResult,
    code_in,
)
from agentic.core.graph import (
    Case,
    Default,
    MemoryCheckpointStore,
    RetryPolicy,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
)
from agentic.core.llm import OverloadedError, ScriptedModel
from agentic.core.sandbox import SandboxResult

pytestmark = pytest.mark.integration

GOOD = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return 3 * x\n"
BROKEN = "def double(x)\n    return 2 * x\n"
TESTS = "from main import double\n\n\ndef test_it():\n    assert double(2) == 4\n"


def block(code: str, language: str = "python") -> str:
    return f"Here it is:\n\n```{language}\n{code}```\n"


def chain(*nodes: object) -> Workflow:
    builder = WorkflowBuilder("chain").set_start(nodes[0])  # type: ignore[arg-type]  # any node
    for source, target in pairwise(nodes):
        builder.add_edge(source, target)  # type: ignore[arg-type]  # any node
    return builder.build()


@executor(id="give_up")
async def give_up(output: CompileOutput | TestOutput) -> str:
    return f"gave up: {output.errors[0]}"


@executor(id="accept")
async def accept(output: TestOutput) -> TestOutput:
    return output


def repairing(model: ScriptedModel, validator: SandboxValidator) -> Workflow:
    """Generate, compile, test; each validator sends its findings back."""
    writer = LLMGeneratorExecutor("write", model)
    compiler = CompileValidatorExecutor("compile", validator, tests=TESTS)
    tester = TestValidatorExecutor("test", validator, tests=TESTS)
    return (
        WorkflowBuilder("repairing")
        .set_start(writer)
        .add_edge(writer, compiler)
        .add_edge(compiler, tester, lambda output: output.passed)
        .add_edge(tester, accept, lambda output: output.passed)
        .add_retry_edge(
            compiler, writer, when=lambda output: not output.passed, max_passes=2, exhausted=give_up
        )
        .add_retry_edge(
            tester, writer, when=lambda output: not output.passed, max_passes=2, exhausted=give_up
        )
        .build()
    )


@pytest.mark.requirement("BE01", "BE04", "BE07", "BE18", "LG08")
async def test_findings_go_back_to_the_model_until_the_tests_pass(validator: SandboxValidator) -> None:
    model = ScriptedModel([block(BROKEN), block(WRONG), block(GOOD)])
    result = await repairing(model, validator).run(GeneratorInput.new("Double a number", "python"))
    output = result.output(TestOutput)
    assert (output.code, output.passed, output.test_count) == (GOOD, True, 1)
    assert [text for text in result.outputs if isinstance(text, str)] == [
        "Generated 31 bytes of python",
        "Compilation: FAILED",
        "Generated 32 bytes of python",
        "Compilation: PASSED",
        "Tests: FAILED (0 of 1)",
        "Generated 32 bytes of python",
        "Compilation: PASSED",
        "Tests: PASSED (1 of 1)",
    ]
    first, second, third = (request.messages[-1].text for request in model.requests)
    assert first == "Double a number"
    assert "main.py:1:14 SyntaxError: expected ':'" in second
    assert "    1 | def double(x)" in second
    assert "The tests fail (1 of 1):" in third
    assert "assert 6 == 4" in third


async def test_a_model_that_never_mends_its_code_is_given_up(validator: SandboxValidator) -> None:
    model = ScriptedModel.repeating(block(BROKEN), times=3)
    result = await repairing(model, validator).run(GeneratorInput.new("Double a number", "python"))
    assert result.outputs[-1] == "gave up: main.py:1:14 SyntaxError: expected ':'"


@pytest.mark.requirement("BE02", "BE03", "BE19", "LM06")
async def test_a_generator_uses_context_and_earlier_errors() -> None:
    model = ScriptedModel([block(GOOD)])
    given = GeneratorInput.new("Double", "py").with_context("for a shop").with_errors(["E1", "E2"])
    result = await chain(LLMGeneratorExecutor("write", model)).run(given.to_value())
    made = result.output(GeneratedCode)
    assert (made.code, made.language, made.prompt) == (GOOD, "python", "Double")
    assert made.tokens_used > 0
    asked = model.requests[0]
    assert asked.messages[-1].text.startswith("Double\n\nContext:\nfor a shop\n\nEarlier attempts failed.")
    assert "Attempt 1:\nE1\n\nAttempt 2:\nE2" in asked.messages[-1].text
    assert "The code is the module main.py." in asked.instructions


@pytest.mark.requirement("BE17")
async def test_a_generator_takes_requests_and_parts_of_tasks() -> None:
    model = ScriptedModel.repeating(block(GOOD), times=2)
    workflow = chain(LLMGeneratorExecutor("write", model, yields_status=False))
    request = await workflow.run(GenerationRequest(task="Double", language="python"))
    part = await workflow.run(SubTaskRequest(task_id="1", task="Double", language="python", context="shop"))
    assert request.output(GeneratedCode).code == part.output(GeneratedCode).code == GOOD
    assert "Context:\nshop" in model.requests[1].messages[-1].text


async def test_the_code_of_a_generator_is_context_for_the_next_one() -> None:
    model = ScriptedModel([block("x: int\n"), block(GOOD)])
    workflow = chain(LLMGeneratorExecutor("types", model), LLMGeneratorExecutor("functions", model))
    result = await workflow.run(GeneratorInput.new("Double", "python"))
    assert model.requests[1].messages[-1].text == "Double\n\nContext:\nx: int\n"
    assert (result.output(GeneratedCode).code, result.output(GeneratedCode).prompt) == (GOOD, "Double")


async def test_a_failed_try_is_told_to_the_model_and_a_reply_is_asked_for_once() -> None:
    model = ScriptedModel([OverloadedError("scripted:model", "busy"), block(GOOD), "spare"])
    retry = RetryPolicy(max_attempts=2, first_delay_s=0.0)
    workflow = chain(LLMGeneratorExecutor("write", model, retry=retry))
    result = await workflow.run(GeneratorInput.new("Double", "python"))
    assert result.output(GeneratedCode).code == GOOD
    assert "OverloadedError" in model.requests[1].messages[-1].text


@pytest.mark.requirement("BE01")
async def test_a_reply_without_code_fails() -> None:
    with pytest.raises(NoCodeError, match="the reply of the model to 'write' contains no code"):
        await chain(LLMGeneratorExecutor("write", ScriptedModel(["```\n```"]))).run(
            GeneratorInput.new("Double", "python")
        )


async def test_half_of_a_character_in_a_reply_is_an_escape_in_the_code(validator: SandboxValidator) -> None:
    model = ScriptedModel(["```python\nx = '\ud83d'\n```"])
    workflow = chain(LLMGeneratorExecutor("write", model), CompileValidatorExecutor("compile", validator))
    output = (await workflow.run(GeneratorInput.new("Write x", "python"))).output(CompileOutput)
    assert (output.code, output.passed) == ("x = '\\ud83d'\n", True)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("x = 1", "x = 1"),
        ("a\n```python\nx = 1\n```\nb", "x = 1\n"),
        ("```sh\nls\n```\n```py\nx = 1\n```", "x = 1\n"),
        ("```\nx = 1\n```\n```\ny = 2\n```", "x = 1\n\ny = 2\n"),
        ("````python\nx = '''\n```\n'''\n````", "x = '''\n```\n'''\n"),
        ("```python\nx = 1", "x = 1\n"),
    ],
)
def test_code_is_found_in_replies(reply: str, code: str) -> None:
    assert code_in(reply, ("python", "py")) == code


@pytest.mark.requirement("BE05", "BE06", "BE19")
async def test_a_compiler_returns_its_findings(validator: SandboxValidator) -> None:
    workflow = chain(CompileValidatorExecutor("compile", validator))
    given = CompileInput.new(BROKEN, "python").with_task("Double")
    assert given.to_value() == {"code": BROKEN, "language": "python", "task": "Double"}
    for message in (given, given.to_value(), GeneratedCode(code=BROKEN, language="python")):
        output = (await workflow.run(message)).output(CompileOutput)
        assert (output.code, output.language, output.passed) == (BROKEN, "python", False)
        assert output.errors == ("main.py:1:14 SyntaxError: expected ':'",)
        assert output.findings[0].line == 1
        assert output.feedback is not None
        assert output.execution_time_ms > 0
        verdict = ValidationResult.of(output)
        assert (verdict.passed, verdict.errors) == (False, output.errors)


@pytest.mark.requirement("BE08", "BE09", "BE19")
async def test_tests_are_filtered_and_counted(validator: SandboxValidator) -> None:
    tests = f"{TESTS}\n\ndef test_other():\n    assert double(0) == 1\n"
    given = TestInput.new(GOOD, "python").with_tests(tests).with_task("Double").with_filter("test_it")
    workflow = chain(TestValidatorExecutor("test", validator))
    output = (await workflow.run(given.to_value())).output(TestOutput)
    assert (output.passed, output.test_count, output.tests_passed, output.tests_failed) == (True, 1, 1, 0)
    whole = (await workflow.run(CodeToValidate(code=GOOD, language="python", tests=tests))).output(TestOutput)
    assert (whole.passed, whole.test_count, whole.tests_failed) == (False, 2, 1)
    assert whole.errors == (str(whole.findings[0]),)
    assert whole.tests == tests


@pytest.mark.requirement("BE10")
async def test_a_linter_returns_its_findings(validator: SandboxValidator) -> None:
    workflow = chain(LintValidator("lint", validator))
    output = (await workflow.run(CodeToValidate(code="import os\n", language="python"))).output(LintOutput)
    assert (output.passed, output.findings[0].code) == (False, "F401")
    assert output.feedback is not None
    assert "The linter has complaints:" in output.feedback


@pytest.mark.requirement("BE11", "BE12", "BE13", "BE19", "SB06")
async def test_parts_become_one_program(validator: SandboxValidator) -> None:
    given = (
        AssemblyInput.new("python")
        .add_part(CodePart.new("double", GOOD, "py").with_section("Numbers"))
        .add_part(CodePart.new("use", "print(double(2))", "python"))
    )
    workflow = chain(CodeAssemblerExecutor("assemble", validator=validator))
    result = await workflow.run(given.to_value())
    code = f"# Numbers\n{GOOD}\nprint(double(2))\n"
    assert result.outputs[0] == code
    made = result.output(AssembledCode)
    assert (made.code, made.part_count, made.size_bytes) == (code, 2, len(code))
    assert (made.compiles, made.errors) == (True, ())
    bad = given.add_part(CodePart.new("bad", "def", "python"))
    broken = (await workflow.run(bad)).output(AssembledCode)
    assert broken.compiles is False
    assert broken.errors
    other = given.add_part(CodePart.new("other", "fn f() {}", "rust"))
    with pytest.raises(MixedLanguagesError, match="the part 'other' is rust, but the program is python"):
        await workflow.run(other)


@executor(id="child")
async def echo(value: dict[str, int]) -> dict[str, int]:
    if value["n"] < 0:
        raise ValueError("n is negative")
    return {"n": value["n"] + 1}


@pytest.mark.requirement("BE14", "BE15", "BE16", "BE18")
async def test_a_child_workflow_has_typed_input_and_output() -> None:
    workflow = chain(SubWorkflowExecutor("sub", chain(echo)))
    given = SubWorkflowInput.new({"n": 1}).with_task_id("7")
    result = await workflow.run(given.to_value())
    assert result.outputs[0] == "Sub-workflow: COMPLETED (1 outputs, 1 supersteps)"
    output = result.output(SubWorkflowOutput)
    assert (output.outputs, output.superstep_count, output.success) == (({"n": 2},), 1, True)
    assert output.error is None


@pytest.mark.requirement("BE14")
async def test_the_failure_of_a_child_is_an_error_or_data() -> None:
    bad = SubWorkflowInput.new({"n": -1})
    with pytest.raises(ValueError, match="n is negative"):
        await chain(SubWorkflowExecutor("sub", chain(echo))).run(bad)
    kept = chain(SubWorkflowExecutor("sub", chain(echo), fail_on_child_failure=False))
    result = await kept.run(bad)
    output = result.output(SubWorkflowOutput)
    assert (output.success, output.error) == (False, "ValueError: n is negative")
    assert result.outputs[0] == "Sub-workflow: FAILED (0 outputs, 0 supersteps)"
    assert issubclass(ChildFailedError, Exception)


@pytest.mark.requirement("BE17")
async def test_a_part_of_a_task_runs_in_a_child(validator: SandboxValidator) -> None:
    child = repairing(ScriptedModel([block(GOOD)]), validator)
    workflow = chain(SubWorkflowExecutor("sub", child, yields_status=False))
    result = await workflow.run(SubTaskRequest(task_id="t1", task="Double", language="python"))
    done = result.output(SubTaskResult)
    assert (done.task_id, done.passed, done.error) == ("t1", True, None)
    assert done.outputs[-1]["passed"] is True  # type: ignore[index, call-overload]  # a JSON object


@pytest.mark.requirement("SB07")
async def test_a_sandbox_is_a_node(validator: SandboxValidator) -> None:
    workflow = chain(SandboxRunner("run", validator.sandbox))
    given = SandboxRun(command=("sh", "-c", "cat a.txt > b.txt"), files={"a.txt": "text"})
    result = await workflow.run(given.to_value())
    assert result.outputs[0] == "Sandbox: it ended with exit code 0"
    assert result.output(SandboxResult).files == {"b.txt": b"text"}


async def test_a_stored_run_is_read_again(validator: SandboxValidator) -> None:
    workflow = repairing(ScriptedModel([block(WRONG), block(GOOD)]), validator)
    store = MemoryCheckpointStore()
    done = await workflow.run(GeneratorInput.new("Double", "python"), run_id="r", checkpoints=store)
    read = await workflow.resume("r", checkpoints=store)
    assert read.outputs == done.outputs
    assert read.output(TestOutput).passed


@pytest.mark.requirement("BE20")
async def test_errors_are_routed_by_kind_between_small_executors_of_ones_own(
    validator: SandboxValidator,
) -> None:
    """A splitter, an analyzer that sends and yields, a switch, and executors that only yield."""

    @executor(id="split")
    async def split_task(task: str, ctx: WorkflowContext[CodeToValidate, str]) -> None:
        for code in task.split("---\n"):
            await ctx.send_message(CodeToValidate(code=code, language="python", tests=TESTS))

    @executor(id="analyze")
    async def analyze(output: TestOutput, ctx: WorkflowContext[TestOutput, str]) -> None:
        await ctx.yield_output(f"{len(output.errors)} errors")
        await ctx.send_message(output)

    @executor(id="types")
    async def mend_types(output: TestOutput) -> str:
        return f"types: {output.findings[0].text.partition(':')[0]}"

    @executor(id="logic")
    async def mend_logic(output: TestOutput) -> str:
        return "logic"

    @executor(id="praise")
    async def praise(output: TestOutput) -> str:
        return "accepted"

    tester = TestValidatorExecutor("test", validator, yields_status=False)
    workflow = (
        WorkflowBuilder("routes")
        .set_start(split_task)
        .add_edge(split_task, tester)
        .add_edge(tester, analyze)
        .add_switch_edge(
            analyze,
            [
                Case(lambda output: "TypeError" in str(output.errors), mend_types),
                Case(lambda output: not output.passed, mend_logic),
                Default(praise),
            ],
        )
        .build()
    )
    bad_type = "def double(x):\n    return 'a' + x\n"
    result = await workflow.run(f"{GOOD}---\n{WRONG}---\n{bad_type}")
    assert sorted(map(str, result.outputs)) == [
        "0 errors",
        "1 errors",
        "1 errors",
        "accepted",
        "logic",
        "types: TypeError",
    ]
