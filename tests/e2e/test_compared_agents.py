"""The agents of other frameworks in the comparison do what its page says.

Their libraries do not fit beside ours, so they have an environment of their own, of ``compared.txt``. The
agent of pydantic-ai is in ``tests/unit/plugins/pydantic_ai/test_guide.py``.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import BaseModel, TypeAdapter
from tests.e2e.machines import CONSTRAINTS, REPOSITORY, python_of, uv
from tests.integration.plugins.openai.wire import OpenAIWire
from tests.integration.plugins.typed import unknown_in

from agentic.core.llm import ToolCall
from agentic.core.testing.llm import KEY, ModelServer, WireAnswer, WireRequest, serving

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

PAGE = (REPOSITORY / "docs/explanation/coming-from-agent-frameworks.md").read_text(encoding="utf-8")
PINNED = Path(__file__).with_name("compared.txt")
REQUESTS: Mapping[str, TypeAdapter[Any]] = {
    "/v1/chat/completions": TypeAdapter[Any](CompletionCreateParamsNonStreaming, config=None),
    "/v1/responses": TypeAdapter[Any](ResponseCreateParamsNonStreaming, config=None),
}
PAY_BACK = ToolCall(id="c1", name="pay_back", arguments={"number": 7, "amount": 39.0})
PAID = "paid 39.0 for order 7"
VERDICT = json.dumps({"paid": True, "reason": "it arrived broken"})
ASKED = 'pay_back {"number": 7, "amount": 39.0}'
ASKED_BY_LANGCHAIN = (
    "[{'name': 'pay_back', 'args': {'number': 7, 'amount': 39.0}, 'description': \"Tool execution requires "
    "approval\\n\\nTool: pay_back\\nArgs: {'number': 7, 'amount': 39.0}\"}]"
)
OUTPUT = "paid=True reason='it arrived broken'"


class WholeReplies(OpenAIWire):
    """Both APIs of OpenAI, without streams."""

    def problems(self, request: WireRequest) -> Iterator[str]:
        if request.method != "POST" or request.path not in REQUESTS:
            yield f"not served here: {request.method} {request.path}"
            return
        if request.headers.get("authorization") != f"Bearer {KEY}":
            yield "wrong key"
        yield from unknown_in(request.body, REQUESTS[request.path])


def response(**item: object) -> WireAnswer:
    """Return an answer of the API of responses, with one item."""
    output = [{"id": "item_1", "status": "completed", **item}]
    tools = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    about = {"id": "resp_1", "object": "response", "created_at": 1, "model": "NAME", "status": "completed"}
    return _answer(Response, {**about, **tools, "output": output})


def completion(call: ToolCall) -> WireAnswer:
    """Return an answer of the API of chat completions: a call."""
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    calls = [{"id": call.id, "type": "function", "function": function}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    choices = [{"index": 0, "finish_reason": "tool_calls", "message": message}]
    about = {"id": "chatcmpl_1", "object": "chat.completion", "created": 1, "model": "NAME"}
    return _answer(ChatCompletion, {**about, "choices": choices})


def _answer(shape: type[BaseModel], body: Mapping[str, object]) -> WireAnswer:
    text = json.dumps(body)
    shape.model_validate_json(text, strict=True)
    return WireAnswer(body=text.encode())


RESPONSES = (
    response(
        type="function_call",
        call_id=PAY_BACK.id,
        name=PAY_BACK.name,
        arguments=json.dumps(PAY_BACK.arguments),
    ),
    response(
        type="message",
        role="assistant",
        content=[{"type": "output_text", "text": VERDICT, "annotations": []}],
    ),
)
COMPLETIONS = (
    completion(PAY_BACK),
    completion(ToolCall(id="c2", name="Verdict", arguments=json.loads(VERDICT))),
)
"""LangChain has a tool for the output, where it does not know that the model keeps to a schema."""


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with serving(WholeReplies()) as server:
        yield server


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compared frameworks, and nothing of ours."""
    environment = tmp_path_factory.mktemp("compared") / "environment"
    uv("venv", "--python", sys.executable, str(environment))
    uv("pip", "install", "--python", python_of(environment), "--no-deps", "--requirements", str(PINNED))
    return environment


@pytest.mark.parametrize(
    ("framework", "answers", "asked"),
    [
        ("openai-agents", RESPONSES, ASKED),
        ("Agent Framework", RESPONSES, ASKED),
        ("LangChain", COMPLETIONS, ASKED_BY_LANGCHAIN),
    ],
    ids=["openai-agents", "agent-framework", "langchain"],
)
async def test_an_agent_of_the_page_asks_for_the_approval_and_gives_the_answer(
    environment: Path,
    server: ModelServer,
    tmp_path: Path,
    framework: str,
    answers: tuple[WireAnswer, ...],
    asked: str,
) -> None:
    server.script(*answers)

    printed = await run(code_of(framework), environment, server, tmp_path)

    assert printed.splitlines() == [asked, OUTPUT]
    assert [PAID in json.dumps(request.body) for request in server.requests] == [False, True]


def test_the_page_names_the_versions_that_are_run() -> None:
    pinned = {*PINNED.read_text("utf-8").splitlines(), *CONSTRAINTS.read_text("utf-8").splitlines()}
    named = re.findall(r"\*\*([a-z-]+) ([\d.]+)\*\*", PAGE)
    assert len(named) == 4
    packages = {"pydantic-ai": "pydantic-ai-slim"}
    assert {f"{packages.get(name, name)}=={version}" for name, version in named} <= pinned


def code_of(framework: str) -> str:
    """Return the code of a framework on the page."""
    found = re.search(rf"^## In {framework}\n\n```py\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, framework
    return found[1]


async def run(code: str, environment: Path, server: ModelServer, home: Path) -> str:
    """Run a script against the server; return what it printed."""
    script = home / "script.py"
    script.write_text(code, encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        *(python_of(environment), str(script)),
        cwd=home,
        env={
            "HOME": str(home),
            "HTTPS_PROXY": server.url,  # what would leave the machine comes here, and is a problem
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{server.url}/v1",
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, errors = await process.communicate()
    assert (process.returncode, server.problems) == (0, []), errors.decode()
    return printed.decode()
