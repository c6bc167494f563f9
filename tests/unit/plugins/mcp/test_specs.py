"""MCP servers in agents that are data."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from agentic.core.agents import (
    AgentSpec,
    AgentSpecError,
    agent_schema,
    build_agent,
    load_agent_spec,
    parse_agent_spec,
)
from agentic.core.agents.specs.models import secret_names
from agentic.core.agents.specs.toolsets import McpToolSpec
from agentic.plugins.mcp import CodeMode, McpToolset

SPEC = """
model: scripted:script.yaml
tools:
  - ask_person
  - mcp: https://mcp.example.com/mcp
    name: shop
    token: ${secrets.SHOP_KEY}
    headers: {X-Shop: north}
    only: [price, order]
    rename: {price: cost_of}
    approval: writes
  - mcp: [COMMAND, ./shop.py, --fast]
    env: {SHOP_TOKEN: "${secrets.OTHER}"}
    optional: true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "script.yaml").write_text("- hello\n")
    return tmp_path


def loaded(folder: Path, text: str, *, runs_code: bool = True) -> AgentSpec:
    file = folder / "buyer.yaml"
    file.write_text(text.replace("COMMAND", sys.executable))
    return load_agent_spec(file, runs_code=runs_code)


def faults(folder: Path, entry: str, *, runs_code: bool = True) -> str:
    with pytest.raises(AgentSpecError) as refused:
        loaded(folder, f"model: scripted:script.yaml\ntools:\n  - {entry}\n", runs_code=runs_code)
    return str(refused.value)


@pytest.mark.requirement("AG23")
def test_servers_are_named_in_a_spec_with_secrets_by_reference(folder: Path) -> None:
    spec = loaded(folder, SPEC)
    _, shop, program = spec.tools
    assert isinstance(shop, McpToolSpec)
    assert isinstance(program, McpToolSpec)
    assert program.mcp == (sys.executable, str(folder / "shop.py"), "--fast")
    assert secret_names(spec) == ["SHOP_KEY", "OTHER"]
    with pytest.raises(ValueError, match="the secret 'SHOP_KEY' is needed for the MCP server shop"):
        build_agent(spec)
    agent = build_agent(spec, secrets={"SHOP_KEY": "k3y-of-the-shop", "OTHER": "x"})
    toolset, other = agent.setup.toolsets
    assert isinstance(toolset, McpToolset)
    assert (toolset.name, other.name) == ("shop", Path(sys.executable).name)
    assert toolset.masked("k3y-of-the-shop") == "***"
    assert "k3y" not in repr(spec) + str(spec.model_dump())


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("{mcp: shop.example.com}", "'shop.example.com' is not an MCP server; write a URL"),
        ("{mcp: []}", "'mcp' is an empty list"),
        ("{mcp: 'https://u:p@x.example/mcp'}", "has a password; use 'token'"),
        ("{mcp: 'https://x.example/mcp', env: {A: b}}", "'env' is for a command"),
        ("{mcp: [COMMAND], token: '${secrets.A}'}", "'headers' and 'token' are for a URL"),
        ("{mcp: 'https://x.example/mcp', token: abc}", "it is a secret; store it with `agentic secrets set"),
        ("{mcp: [COMMAND], env: {API_TOKEN: abc}}", "it is a secret; store it"),
        ("{mcp: 'https://x.example/mcp', token: 'Bearer ${secrets.A}'}", "a secret must stand alone"),
        ("{mcp: 'https://x.example/mcp', rename: {a: 'b c'}}", "a tool cannot be called 'b c'"),
        ("{mcp: 'https://x.example/mcp', onyl: [a]}", "did you mean 'only'"),
    ],
)
def test_faults_of_servers_are_reported_with_their_line_and_show_no_secret(
    folder: Path, entry: str, says: str
) -> None:
    found = faults(folder, entry)
    assert says in found
    assert "line 3 column" in found
    assert "abc" not in found


def test_an_agent_in_a_database_starts_only_programs_that_are_allowed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = "{mcp: [uvx, some-server]}"
    found = faults(folder, entry, runs_code=False)
    assert "the command 'uvx' may not be started here" in found
    assert "AGENTIC_MCP_COMMANDS" in found
    text = f"model: openai:some\noptions: {{base_url: 'http://localhost:9'}}\ntools:\n  - {entry}\n"
    for allowed in ('["uvx"]', '["uvx some-server"]'):
        monkeypatch.setenv("AGENTIC_MCP_COMMANDS", allowed)
        assert build_agent(parse_agent_spec(text)).setup.toolsets
    monkeypatch.setenv("AGENTIC_MCP_COMMANDS", '["uvx other-server"]')
    with pytest.raises(AgentSpecError, match="may not be started here"):
        parse_agent_spec(text)
    monkeypatch.delenv("AGENTIC_MCP_COMMANDS")
    spec = loaded(folder, f"model: scripted:script.yaml\ntools:\n  - {entry}\n")  # named by its user
    assert build_agent(spec).setup.toolsets


def test_an_agent_in_a_database_changes_no_program_by_its_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_MCP_COMMANDS", '["uvx some-server"]')
    entry = "{mcp: [uvx, some-server], env: {LD_PRELOAD: /tmp/other.so}}"
    found = faults(folder, entry, runs_code=False)
    assert "by secrets only" in found
    assert "env LD_PRELOAD=" in found
    assert "other.so" not in found
    secret = "{mcp: [uvx, some-server], env: {KEY: '${secrets.KEY}'}}"
    text = "model: openai:some\noptions: {base_url: 'http://localhost:9'}\ntools:\n  - ENTRY\n"
    assert build_agent(parse_agent_spec(text.replace("ENTRY", secret)), secrets={"KEY": "x"}).setup.toolsets
    named = loaded(folder, f"model: scripted:script.yaml\ntools:\n  - {entry}\n")  # by its user
    assert build_agent(named).setup.toolsets


def test_code_mode_is_chosen_for_all_tools_but_questions(folder: Path) -> None:
    agent = build_agent(loaded(folder, SPEC + "code_mode: always\n"), secrets={"SHOP_KEY": "x", "OTHER": "y"})
    assert [tool.name for tool in agent.tools] == ["ask_person"]
    (inside,) = agent.setup.toolsets
    assert isinstance(inside, CodeMode)


def test_editors_know_servers_from_the_schema() -> None:
    import jsonschema

    schema = agent_schema()
    good = {"model": "openai:x", "tools": [{"mcp": ["npx", "-y", "p"], "optional": True}]}
    jsonschema.validate(good, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"model": "openai:x", "tools": [{"mcp": 7}]}, schema)


def test_without_the_library_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [one for one in sys.modules if one.startswith(("agentic.plugins.mcp.", "mcp."))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    make = importlib.import_module("agentic.plugins.mcp.client.specs").toolset_of
    interpreter = importlib.import_module("agentic.plugins.mcp.code.interpreter")
    advice = r"pip install 'agentic-pipelines\[mcp\]'"
    with pytest.raises(ImportError, match=advice):
        make(McpToolSpec(mcp="https://x.example/mcp"), ())
    with pytest.raises(ImportError, match=advice):
        interpreter._pool()  # the first use of the library
