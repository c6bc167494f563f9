"""Rows of LangGraph: ``python -m tests.bench.compared langgraph``, in an environment of its own."""

from __future__ import annotations

import operator
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypedDict

from tests.bench.compared.rows import SERVER, names_in, show

os.environ |= {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}
graphs: Any = import_module("langgraph.graph")
types: Any = import_module("langgraph.types")
messages: Any = import_module("langchain_core.messages")
models: Any = import_module("langchain_core.language_models.chat_models")
outputs: Any = import_module("langchain_core.outputs")

Node = Callable[[Any], Any]
WORDS = "word " * 100


class Said(TypedDict):
    """The words of a conversation."""

    said: Annotated[list[str], operator.add]


class _Model(models.BaseChatModel):  # type: ignore[misc]  # known when it runs
    reply: Any
    requests: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(self, given: Any, *_: Any, **__: Any) -> Any:
        self.requests.append(given)
        return outputs.ChatResult(generations=[outputs.ChatGeneration(message=self.reply(given))])


def _says(text: str) -> Any:
    return _Model(reply=lambda _: messages.AIMessage(text), requests=[])


def _calls(tool: str, then: str) -> Any:
    def reply(given: Any) -> Any:
        if given[-1].type == "tool" and given[-1].name != tool:
            return messages.AIMessage(then)
        if any(one.type == "tool" for one in given):
            return messages.AIMessage(then)
        return messages.AIMessage("", tool_calls=[{"name": tool, "args": {}, "id": "c1"}])

    return _Model(reply=reply, requests=[])


def _says_node(text: str) -> Node:
    return lambda _: {"said": [text]}


def _broken(_: Any) -> Any:
    raise RuntimeError("the model is down")


def _next(replies: Iterator[Node]) -> Node:
    """Return a node that works as the next of several at each try."""

    def node(state: Any) -> Any:
        return next(replies)(state)

    return node


def _chain(*nodes: Node, **compiled: Any) -> Any:
    builder = graphs.StateGraph(Said)
    before = graphs.START
    for number, node in enumerate(nodes):
        builder.add_node(f"n{number}", node)
        builder.add_edge(before, f"n{number}")
        before = f"n{number}"
    return builder.compile(**compiled)


def _fan(*nodes: Node, **compiled: Any) -> Any:
    builder = graphs.StateGraph(Said)
    for number, node in enumerate(nodes):
        builder.add_node(f"n{number}", node)
        builder.add_edge(graphs.START, f"n{number}")
    return builder.compile(**compiled)


def _memory() -> Any:
    return import_module("langgraph.checkpoint.memory").InMemorySaver()


def _thread(**more: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": "t"}, **more}


def sequence() -> str:
    seen: list[Any] = []
    _chain(_says_node("one"), lambda state: seen.append(state["said"])).invoke({"said": ["start"]})
    assert seen == [["start", "one"]]
    return f"edges; the second node gets {seen[0]}"


def early_end_of_a_sequence() -> str:
    builder = graphs.StateGraph(Said)
    builder.add_node("a", _says_node("one"))
    builder.add_node("b", _says_node("two"))
    builder.add_edge(graphs.START, "a")
    builder.add_conditional_edges("a", lambda _: graphs.END, ["b", graphs.END])
    assert builder.compile().invoke({"said": []}) == {"said": ["one"]}
    return "a conditional edge to END"


def concurrent_with_an_aggregator() -> str:
    found = _fan(_says_node("one"), _says_node("two")).invoke({"said": []})
    assert found == {"said": ["one", "two"]}
    return "parallel edges, and a reducer of the state"


def one_concurrent_participant_fails() -> str:
    tries: list[str] = []
    replies: Iterator[Node] = iter([_broken, _says_node("two")])

    def one(_: Any) -> Any:
        tries.append("one")
        return {"said": ["one"]}

    graph = _fan(one, _next(replies), checkpointer=_memory())
    with suppress(RuntimeError):
        graph.invoke({"said": []}, _thread())
        raise AssertionError
    assert graph.invoke(None, _thread()) == {"said": ["one", "two"]}
    assert tries == ["one"]
    return "the run fails; a resume repeats only the node that failed"


def _supervised(model: Any = None) -> tuple[Any, Any]:
    create: Any = import_module("langgraph_supervisor").create_supervisor
    agent: Any = import_module("langchain.agents").create_agent
    boss = _calls("transfer_to_worker", "bye")
    worker = agent(model or _says("done"), tools=[], name="worker")
    return create([worker], model=boss).compile(), boss


def group_chat() -> str:
    graph, _ = _supervised()
    said = graph.invoke({"messages": [("user", "start")]})["messages"]
    assert "done" in [one.content for one in said]
    return "create_supervisor: the worker answers to its supervisor"


def choice_of_the_speaker() -> str:
    graph, boss = _supervised()
    graph.invoke({"messages": [("user", "start")]})
    return f"the model of the supervisor, by a call of a tool ({len(boss.requests)} requests to it)"


def _loop(turns: int, **compiled: Any) -> Any:
    builder = graphs.StateGraph(Said)
    builder.add_node("speak", _says_node(WORDS))
    builder.add_edge(graphs.START, "speak")
    builder.add_conditional_edges(
        "speak", lambda state: "speak" if len(state["said"]) < turns else graphs.END, ["speak", graphs.END]
    )
    return builder.compile(**compiled)


def end_of_a_chat() -> str:
    error: Any = import_module("langgraph.errors").GraphRecursionError
    with suppress(error):
        _loop(9).invoke({"said": []}, {"recursion_limit": 3})
        raise AssertionError
    return f"recursion_limit ends the run with {error.__name__}; or a conditional edge"


def _swarm() -> tuple[Any, list[Any]]:
    swarm: Any = import_module("langgraph_swarm")
    agent: Any = import_module("langchain.agents").create_agent
    used = [_calls("transfer_to_refund", "never"), _says("paid")]
    first = agent(used[0], tools=[swarm.create_handoff_tool(agent_name="refund")], name="triage")
    second = agent(used[1], tools=[], name="refund")
    return swarm.create_swarm([first, second], default_active_agent="triage").compile(), used


def handoff() -> str:
    graph, _ = _swarm()
    found = graph.invoke({"messages": [("user", "refund me")]})
    assert (found["messages"][-1].content, found["active_agent"]) == ("paid", "refund")
    return "create_swarm"


def requests_to_models_for_a_handoff_and_an_answer() -> str:
    graph, used = _swarm()
    graph.invoke({"messages": [("user", "refund me")]})
    count = sum(len(one.requests) for one in used)
    assert count == 2
    return str(count)


def _asking(question: str) -> Any:
    return _chain(lambda _: {"said": [types.interrupt(question)]}, checkpointer=_memory())


def handoff_to_a_person() -> str:
    graph = _asking("Who?")
    (asked,) = graph.invoke({"said": []}, _thread())["__interrupt__"]
    found = graph.invoke(types.Command(resume="Ann"), _thread())
    assert (asked.value, found["said"]) == ("Who?", ["Ann"])
    return "interrupt() in a node of yours"


def planner_with_a_ledger() -> str:
    found = [*names_in("langgraph", "magentic"), *names_in("langgraph_supervisor", "plan")]
    assert not found
    return "no class or function of this name"


def a_person_reviews_the_plan() -> str:
    graph = _asking("Is this plan good?")
    assert graph.invoke({"said": []}, _thread())["__interrupt__"]
    return "interrupt() in a node of yours"


def a_member_of_the_team_fails() -> str:
    graph, _ = _supervised(_Model(reply=_broken, requests=[]))
    with suppress(RuntimeError):
        graph.invoke({"messages": [("user", "start")]})
        raise AssertionError
    return "the run fails"


def participants() -> str:
    found = _chain(_says_node("one"), _chain(_says_node("two"))).invoke({"said": []})
    assert found["said"][:1] == ["one"]
    return "nodes: functions and graphs"


def a_pattern_as_an_agent() -> str:
    graph, _ = _supervised()
    outer = graphs.StateGraph(graphs.MessagesState)
    outer.add_node("team", graph)
    outer.add_edge(graphs.START, "team")
    assert outer.compile().invoke({"messages": [("user", "start")]})["messages"]
    return "a compiled graph is a node of another one"


def stored_and_resumed() -> str:
    replies: Iterator[Node] = iter([_broken, _says_node("two")])
    graph = _chain(_says_node("one"), _next(replies), checkpointer=_memory())
    with suppress(RuntimeError):
        graph.invoke({"said": []}, _thread())
    assert graph.invoke(None, _thread()) == {"said": ["one", "two"]}
    return "checkpointers: a run that failed continues after its last step"


def a_killed_run_asks_again_for_a_reply_that_it_had() -> str:
    model, tries = _says("one"), []

    def node(_: Any) -> Any:
        model.invoke("start")
        tries.append("work")
        if len(tries) == 1:
            raise KeyboardInterrupt
        return {"said": [model.invoke("work").content]}

    graph = _chain(node, checkpointer=_memory())
    with suppress(KeyboardInterrupt):
        graph.invoke({"said": []}, _thread())
    graph.invoke(None, _thread())
    assert len(model.requests) == 3
    return "yes, within a node: 3 requests where 2 are needed"


def _stored_bytes(turns: int) -> int:
    saver: Any = import_module("langgraph.checkpoint.sqlite").SqliteSaver
    builder = graphs.StateGraph(graphs.MessagesState)
    builder.add_node("speak", lambda _: {"messages": [messages.AIMessage(WORDS)]})
    builder.add_edge(graphs.START, "speak")
    builder.add_conditional_edges(
        "speak",
        lambda state: "speak" if len(state["messages"]) <= turns else graphs.END,
        ["speak", graphs.END],
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoints.db"
        connection = sqlite3.connect(path, check_same_thread=False)
        chat = builder.compile(checkpointer=saver(connection))
        chat.invoke({"messages": [("user", "start")]}, _thread(recursion_limit=1_000))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        return path.stat().st_size


def bytes_stored_by_a_chat() -> str:
    short, long = _stored_bytes(10), _stored_bytes(40)
    return f"10 turns: {short / 1e3:,.0f} kB; 40 turns: {long / 1e3:,.0f} kB, {long / short:.1f} times"


def a_chat_of_100_turns() -> str:
    error: Any = import_module("langgraph.errors").GraphRecursionError
    with suppress(error):
        _loop(100).invoke({"said": []}, {"recursion_limit": 99})
        raise AssertionError
    assert len(_loop(100).invoke({"said": []}, {"recursion_limit": 101})["said"]) == 100
    return "with a recursion_limit of 100 or more"


def picture() -> str:
    assert "graph" in _loop(2).get_graph().draw_mermaid()
    return "draw_mermaid"


async def tools_of_mcp_servers() -> str:
    client: Any = import_module("langchain_mcp_adapters.client").MultiServerMCPClient
    server = {"transport": "stdio", "command": SERVER[0], "args": SERVER[1:]}
    names = [one.name for one in await client({"adder": server}).get_tools()]
    assert names == ["add"]
    return f"langchain-mcp-adapters has {names}"


def agent_behind_a2a() -> str:
    assert not [*names_in("langgraph", "a2a"), *names_in("langgraph_sdk", "a2a")]
    return "no class or function of this name"


def graphs_of_langgraph() -> str:
    assert _chain(_says_node("one")).invoke({"said": []}) == {"said": ["one"]}
    return "its own"


if __name__ == "__main__":
    names = ("langgraph", "langgraph-supervisor", "langgraph-swarm", "langchain-mcp-adapters")
    show(dict(vars(sys.modules[__name__])), *names)
