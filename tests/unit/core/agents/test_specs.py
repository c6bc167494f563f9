"""Agents as data: read, checked, and built."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from pydantic import SecretStr

from agentic.core.agents import (
    AgentSpec,
    AgentSpecError,
    AgentThread,
    ChatAgent,
    OutputNotMetError,
    OutputSchema,
    ProcessMemoryStore,
    RequestAnswer,
    ResponseStatus,
    SpecAgent,
    agent_schema,
    build_agent,
    load_agent_spec,
    parse_agent_spec,
)
from agentic.core.agents.structured import output_spec
from agentic.core.llm import ChatMessage, FallbackModel, ReplayModel, ScriptedModel
from agentic.core.llm.scripted import ScriptEndedError

TOOLS = '''
from agentic.core.agents import tool


def find_order(number: int) -> dict:
    """Find an order."""
    return {"number": number, "product": "lamp"}


@tool(approval="always")
def refund(number: int) -> str:
    """Pay back."""
    return f"paid {number}"


NOT_A_TOOL = 3
'''
SCRIPT = """
- call: {find_order: {number: 7}}
- call: {refund: {number: 7}}
- Your lamp is paid back.
"""
SUPPORT = """
model: scripted:script.yaml
instructions: You help customers.
tools: [./tools.py:find_order, ./tools.py:refund]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "script.yaml").write_text(SCRIPT)
    return tmp_path


def loaded(folder: Path, text: str) -> AgentSpec:
    file = folder / "support.yaml"
    file.write_text(text)
    return load_agent_spec(file, runs_code=True)


def faults(folder: Path, text: str) -> str:
    with pytest.raises(AgentSpecError) as refused:
        loaded(folder, text)
    return str(refused.value)


def restored(thread: AgentThread) -> AgentThread:
    """Return a thread as another process has it."""
    return AgentThread.deserialize(thread.serialize())


async def test_an_agent_of_a_file_calls_tools_beside_it_and_waits_for_approvals(folder: Path) -> None:
    agent = build_agent(loaded(folder, SUPPORT))
    thread = agent.new_thread()
    response = await agent.run("Order 7 is broken.", thread)
    assert (agent.name, response.status) == ("support", ResponseStatus.NEEDS_INPUT)
    (request,) = response.pending
    assert (await agent.run(RequestAnswer(request_id=request.id), thread)).text == "Your lamp is paid back."


async def test_a_script_continues_in_another_process(folder: Path) -> None:
    spec = loaded(folder, SUPPORT)
    thread = build_agent(spec).new_thread()
    (request,) = (await build_agent(spec).run("Order 7 is broken.", thread)).pending
    answer = RequestAnswer(request_id=request.id, approved=False)
    assert (await build_agent(spec).run(answer, restored(thread))).text == "Your lamp is paid back."


@pytest.mark.parametrize("wanted", ["always", "never"])
async def test_the_spec_decides_on_approvals_for_itself_only(folder: Path, wanted: str) -> None:
    spec = loaded(folder, f"{SUPPORT}approval: {{find_order: {wanted}, refund: {wanted}}}")
    tools = {tool.name: tool.needs_approval({}) for tool in build_agent(spec).tools}
    assert tools == dict.fromkeys(("find_order", "refund"), wanted == "always")
    untouched = build_agent(loaded(folder, SUPPORT)).tools
    assert [tool.needs_approval({}) for tool in untouched] == [False, True]


async def test_an_agent_is_a_tool_of_another_one(folder: Path) -> None:
    (folder / "below.yaml").write_text("- Seven times six is 42.")
    (folder / "script.yaml").write_text("- call: {sums: {task: 7 times 6}}\n- It is 42.\n")
    text = "model: scripted:script.yaml\ntools: [{agent: {name: sums, model: 'scripted:below.yaml'}}]"
    response = await build_agent(loaded(folder, text)).run("How much?")
    assert response.messages[1].tool_results[0].content == "Seven times six is 42."
    assert response.usage.requests == 3


def test_all_faults_of_a_spec_are_told_with_place_value_and_next_step(folder: Path) -> None:
    told = faults(
        folder,
        "modle: openai:x\nmodel: gpt\nreducer: {kind: mesages}\nlimits: {max_calls: 1}\n"
        "tools: [{agent: {model: 'scripted:script.yaml', toolz: []}}]\nfallback: [{modl: 1}]\n",
    )
    for part in (
        "modle, line 1 column 1: unknown key 'modle'; did you mean 'model'?",
        "model, line 2 column 1: 'gpt' is not a model; write it as provider:name",
        "reducer, line 3 column 1: unknown kind 'mesages'; did you mean 'messages'?",
        "limits.max_calls, line 4 column 10: unknown key 'max_calls'; did you mean 'max_tool_calls'?",
        "tools[0].agent.toolz, line 5 column 49: unknown key 'toolz'; did you mean 'tools'?",
        "fallback[0].modl, line 6 column 13: unknown key 'modl'; did you mean 'model'?",
        "fallback[0].model, line 6 column 12: 'model' is missing",
    ):
        assert part in told


def test_faults_that_only_the_installation_shows_are_told_together(folder: Path) -> None:
    told = faults(
        folder,
        "model: openia:x\ntools: [ask_persn, ./tools.py:nix, ./tools.py:NOT_A_TOOL, ./gone.py:f]\n"
        "output: {type: objct}\nfallback: ['scripted:gone.yaml', {model: 'openai:x', options: {base_ur: x}}]",
    )
    for part in (
        "unknown provider 'openia'; did you mean 'openai'?",
        "tools[0], line 2 column 9: unknown tool 'ask_persn'; did you mean 'ask_person'?",
        "tools[1], line 2 column 20: tools.py has no function 'nix'; its functions: find_order",
        "tools.py:NOT_A_TOOL cannot be a tool",
        "gone.py does not exist",
        "output, line 3 column 1: it is not a JSON Schema",
        "gone.yaml does not exist",
        "fallback[1].options.base_ur, line 4 column 64: unknown option 'base_ur'; did you mean 'base_url'?",
    ):
        assert part in told


def test_an_approval_for_a_missing_tool_is_refused(folder: Path) -> None:
    assert "approval.refnd" in faults(folder, f"{SUPPORT}approval: {{refnd: always}}")
    asking = "model: scripted:script.yaml\ntools: [ask_person]\napproval: {ask_person: always}"
    assert "is answered by a person" in faults(folder, asking)


def test_two_tools_of_one_name_are_refused(folder: Path) -> None:
    twice = "model: scripted:script.yaml\ntools: [./tools.py:refund, ./tools.py:refund]"
    assert "two tools are called 'refund'" in faults(folder, twice)


@pytest.mark.parametrize("key", ["options: {api_key: sk-0123456789}", "options: {api_key: 'x${secrets.K}'}"])
def test_a_secret_in_a_spec_is_refused_and_not_shown(folder: Path, key: str) -> None:
    told = faults(folder, f"model: openai:x\n{key}")
    assert "${secrets.NAME}" in told
    assert "sk-" not in told


def test_code_of_a_spec_that_the_user_has_not_named_is_not_run(folder: Path) -> None:
    (folder / "shop.yaml").write_text("model: scripted:own.yaml\ntools: [./own.py:f]")
    (folder / "own.yaml").write_text("- Hello")
    (folder / "own.py").write_text("raise SystemExit('was run')")
    with pytest.raises(AgentSpecError, match=r"own\.py may not be loaded here") as refused:
        load_agent_spec(folder / "shop.yaml")
    assert "own.yaml may not be loaded here" in str(refused.value)


class Secrets:
    """A store of secrets that can be changed."""

    def __init__(self, **values: str) -> None:
        self.values = values

    async def secret(self, name: str) -> SecretStr:
        return SecretStr(self.values[name])


async def test_secrets_are_read_where_the_agent_runs_and_again_when_they_change() -> None:
    text = "model: openai:x\noptions: {api_key: '${secrets.KEY}', base_url: 'http://127.0.0.1:9'}"
    spec = parse_agent_spec(text)
    with pytest.raises(ValueError, match="the secret 'KEY' is needed"):
        build_agent(spec)
    secrets = Secrets(KEY="sk-one")
    agent = SpecAgent(spec, secrets=secrets)
    first = await agent.built()
    assert await agent.built() is first
    secrets.values["KEY"] = "sk-two"
    assert await agent.built() is not first
    await agent.aclose()
    assert "sk-" not in f"{spec!r}{spec.model_dump_json()}{agent!r}"
    with pytest.raises(ValueError, match="no store of secrets was given"):
        await SpecAgent(spec).built()


async def test_models_are_retried_and_replaced(folder: Path) -> None:
    (folder / "script.yaml").write_text("- error: quota_exhausted\n- Hello from the first.")
    (folder / "other.yaml").write_text("- Hello from the other.")
    spec = loaded(folder, "model: scripted:script.yaml\nfallback: ['scripted:other.yaml']")
    agent = build_agent(spec)
    assert isinstance(agent.setup.model, FallbackModel)
    assert (await agent.run("Hi")).text == "Hello from the other."
    assert (await agent.run("Hi")).text == "Hello from the first."


async def test_an_answer_is_checked_with_the_schema(folder: Path) -> None:
    wanted = "output: {type: object, properties: {fine: {type: boolean}}, required: [fine]}"
    (folder / "script.yaml").write_text("- answer: {fine: maybe}\n- answer: {fine: true}")
    agent: ChatAgent[object] = build_agent(loaded(folder, f"model: scripted:script.yaml\n{wanted}"))
    response = await agent.run("Is it?")
    assert (response.data, response.output) == ({"fine": True}, {"fine": True})
    (folder / "script.yaml").write_text("- answer: {}\n" * 3)
    with pytest.raises(OutputNotMetError, match="'fine' is a required property"):
        await build_agent(loaded(folder, f"model: scripted:script.yaml\n{wanted}")).run("Is it?")


def test_a_schema_of_another_type_is_wrapped() -> None:
    spec = output_spec(OutputSchema.of({"type": "array", "items": {"type": "integer"}}, "numbers"))
    assert spec.schema["required"] == ["value"]
    assert spec.read(ChatMessage.assistant('{"value": [1, 2]}'))[1] == [1, 2]
    with pytest.raises(ValueError, match="0: 'a' is not of type 'integer'"):
        spec.read(ChatMessage.assistant('{"value": ["a"]}'))


async def test_a_recording_is_replayed(folder: Path) -> None:
    recorded = ReplayModel(folder / "talk.jsonl", ScriptedModel(["Hello."]), mode="auto")
    await ChatAgent(recorded, "Be kind.", name="support").run("Hi")
    agent = build_agent(loaded(folder, "model: replay:talk.jsonl\ninstructions: Be kind."))
    assert (await agent.run("Hi")).text == "Hello."


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("say: x", "write a list of lines"),
        ("- sya: x", "line 1 of the script: unknown key 'sya'; did you mean 'say'?"),
        ("- Hello\n- error: overlaoded", "line 2 of the script: unknown error 'overlaoded'; did you mean"),
        ("- {}", "it says nothing"),
        ("- [", "is not YAML"),
    ],
)
def test_a_wrong_script_is_told_with_its_line(folder: Path, script: str, told: str) -> None:
    (folder / "script.yaml").write_text(script)
    assert told in faults(folder, SUPPORT)


async def test_a_script_that_has_ended_says_so(folder: Path) -> None:
    (folder / "script.yaml").write_text("- Hello")
    agent = build_agent(loaded(folder, SUPPORT))
    thread = agent.new_thread()
    await agent.run("Hi", thread)
    with pytest.raises(ScriptEndedError, match="was asked 2 times"):
        await agent.run("Hi again", thread)


@pytest.mark.parametrize("text", ["", "- x", "model: [", "model: 3", "{}"])
def test_what_is_not_a_spec_is_refused(text: str) -> None:
    with pytest.raises(AgentSpecError, match="agent text is invalid"):
        parse_agent_spec(text)


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentSpecError, match=r"gone\.yaml is invalid: it cannot be read"):
        load_agent_spec(tmp_path / "gone.yaml")


@pytest.mark.parametrize(
    ("memory", "told"),
    [
        ("{kind: sql, url: 'redis://a'}", "url is for memory of the kind redis, not sql"),
        ("{kind: redis, url: 'redis://u:hidden@a/0'}", r"write url: \$\{secrets.NAME\}"),
        ("{kind: redis, url: 'redis://${secrets.A}@b'}", "a secret must stand alone"),
        ("{kind: file}", "'file' is not a known value"),
    ],
)
def test_a_memory_that_cannot_be_used_is_refused(folder: Path, memory: str, told: str) -> None:
    with pytest.raises(AgentSpecError, match=told) as caught:
        loaded(folder, f"{SUPPORT}memory: {memory}")
    assert "hidden" not in str(caught.value)


def test_reducers_and_memory_are_built(folder: Path) -> None:
    kinds = (
        "{kind: messages, max_messages: 9}",
        "{kind: tokens, max_tokens: 9}",
        "{kind: window, window_size: 9, max_important: 2}",
        "{kind: summary, max_tokens: 9, model: 'scripted:script.yaml'}",
        "{kind: summary, max_tokens: 9}",
    )
    made = [build_agent(loaded(folder, f"{SUPPORT}reducer: {kind}")).setup.reducer for kind in kinds]
    assert [type(one).__name__ for one in made] == [
        "MessageCountingReducer",
        "TokenCountingReducer",
        "SlidingWindowReducer",
        "SummarizingReducer",
        "SummarizingReducer",
    ]
    assert build_agent(loaded(folder, f"{SUPPORT}memory: {{kind: process}}")).setup.memory
    assert not build_agent(loaded(folder, f"{SUPPORT}memory: {{kind: none}}")).setup.memory
    stored = loaded(folder, f"{SUPPORT}memory: {{kind: sql}}")
    assert build_agent(stored, memories={"sql": ProcessMemoryStore()}).setup.memory
    with pytest.raises(ValueError, match="memory of the kind 'sql' needs a store"):
        build_agent(stored)


def test_the_json_schema_accepts_what_is_read(folder: Path) -> None:
    schema = agent_schema()
    validator = jsonschema.Draft202012Validator(schema)
    spec = loaded(folder, f"{SUPPORT}reducer: {{kind: tokens, max_tokens: 9}}")
    validator.validate(json.loads(spec.model_dump_json(exclude_defaults=True)))
    assert not validator.is_valid({"model": "openai:x", "toolz": []})
