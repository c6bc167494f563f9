"""The agent of pydantic-ai in the comparison does what its page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

PAGE = Path(__file__).parents[4] / "docs/explanation/coming-from-agent-frameworks.md"


def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Call the tool, then give the answer by the output tool."""
    if len(messages) == 1:
        return ModelResponse([ToolCallPart("pay_back", {"number": 7, "amount": 39.0}, "c1")])
    verdict = {"paid": True, "reason": "it arrived broken"}
    return ModelResponse([ToolCallPart(info.output_tools[0].name, verdict, "c2")])


def test_the_agent_of_pydantic_ai_asks_for_the_approval_and_gives_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    part = PAGE.read_text(encoding="utf-8").partition("## In pydantic-ai")[2]
    found = re.search(r"```py\n(.*?)```", part, re.DOTALL)
    assert found is not None
    code = found[1].replace('"openai:NAME"', "model")
    exec(compile(code, str(PAGE), "exec", dont_inherit=True), {"model": FunctionModel(reply)})  # of our page
    assert capsys.readouterr().out.splitlines() == [
        "pay_back {'number': 7, 'amount': 39.0}",
        "paid=True reason='it arrived broken'",
    ]
