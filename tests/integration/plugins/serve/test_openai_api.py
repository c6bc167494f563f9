"""Chat programs that speak the OpenAI API talk to agents: the official client here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest
from tests.integration.plugins.serve.conftest import AddAgent
from tests.serving import TOKEN, ServedHere

pytestmark = [pytest.mark.integration, pytest.mark.requirement("AG24")]


def client(server: ServedHere, token: str = TOKEN) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=token, max_retries=0)


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str | None) -> Any:
    return {"role": "assistant", "content": text}


async def say(http: openai.AsyncOpenAI, *messages: Any, **more: Any) -> Any:
    return await http.chat.completions.create(model="helper", messages=list(messages), **more)


async def test_an_agent_is_a_model(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n")
    async with client(server) as http:
        assert [model.id async for model in await http.models.list()] == ["helper"]
        assert (await http.models.retrieve("helper")).owned_by == "default"
        completion = await say(http, user("Hi"))
        choice = completion.choices[0]
        assert (choice.message.content, choice.finish_reason) == ("Hello.", "stop")
        assert completion.usage.total_tokens > 0
        with pytest.raises(openai.NotFoundError, match="no agent"):
            await http.models.retrieve("nobody")
        with pytest.raises(openai.NotFoundError):
            await http.chat.completions.create(model="nobody", messages=[user("Hi")])


async def test_an_answer_is_streamed_with_its_tools_and_usage(server: ServedHere, add: AddAgent) -> None:
    script = "- say: I look.\n  call: {find_order: {number: 7}}\n- It is a lamp, and it is on its way.\n"
    add("helper", script, tools=["./tools.py:find_order"])
    async with client(server) as http:
        stream = await say(http, user("Order 7?"), stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text.endswith("It is a lamp, and it is on its way.")
    assert text.count("It is a lamp") == 1
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage.prompt_tokens > 0


async def test_a_conversation_continues_in_its_thread(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n- You said hi.\n- Again.\n")
    async with client(server) as http:
        first = await say(http, user("Hi"))
        hello = first.choices[0].message.content
        second = await say(http, user("Hi"), assistant(hello), user("What did I say?"))
        assert second.choices[0].message.content == "You said hi."
        assert first.metadata == second.metadata
        rewritten = await say(http, user("Hi"), assistant(hello), user("Something else"))
        assert rewritten.metadata != first.metadata
    threads = (await server.http.get(f"{server.api}/threads")).json()["items"]
    assert len(threads) == 2


async def test_a_person_approves_a_call_in_the_chat(server: ServedHere, add: AddAgent, home: Path) -> None:
    add("helper", "- call: {refund: {number: 7}}\n- It is paid.\n", tools=["./tools.py:refund"])
    async with client(server) as http:
        asked = (await say(http, user("Pay me back."))).choices[0].message.content
        assert "May I call refund" in asked
        history = [user("Pay me back."), assistant(asked)]
        with pytest.raises(openai.BadRequestError, match="say 'yes'"):
            await say(http, *history, user("Well"))
        assert not (home.parent / "done.txt").exists()
        answer = await say(http, *history, user("Yes."))
    assert answer.choices[0].message.content == "It is paid."
    assert (home.parent / "done.txt").read_text() == "refund 7\n"


async def test_a_streamed_conversation_continues_in_its_thread(
    server: ServedHere, add: AddAgent, home: Path
) -> None:
    look = "- say: I look.\n  call: {find_order: {number: 7}}\n"
    pay = "- say: I found it.\n  call: {refund: {number: 7}}\n"
    add("helper", f"{look}{pay}- It is paid.\n", tools=["./tools.py:find_order", "./tools.py:refund"])
    async with client(server) as http:
        stream = await say(http, user("Pay me back."), stream=True)
        asked = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        assert asked.startswith("I look.\n\nI found it.\n\n[May I call refund")
        stream = await say(http, user("Pay me back."), assistant(asked), user("yes"), stream=True)
        assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream]) == "It is paid."
    assert (home.parent / "done.txt").read_text() == "find 7\nrefund 7\n"


async def test_a_named_thread_is_kept(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n- You said hi.\n")
    async with client(server) as http:
        kept = {"thread_id": "ann-1"}
        await say(http, user("Hi"), metadata=kept, user="ann")
        await say(http, user("Hi"), assistant("Hello."), user("And?"), metadata=kept, user="ann")
        with pytest.raises(openai.BadRequestError, match="another person"):
            await say(http, user("Hi"), metadata=kept, user="bob")
        with pytest.raises(openai.NotFoundError, match="belongs to an execution"):
            await say(http, user("Hi"), metadata={"thread_id": "run-7"})
    thread = (await server.http.get(f"{server.api}/threads/ann-1")).json()
    assert [one["role"] for one in thread["messages"]] == ["user", "assistant", "user", "assistant"]


async def test_a_request_that_an_agent_cannot_fulfil_is_refused(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n")
    sound = {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}
    function = {"type": "function", "function": {"name": "f", "parameters": {}}}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tools": [function]}, "has its own tools"),
        ({"n": 2}, "gives one answer"),
        ({"response_format": {"type": "json_object"}}, "'output' is in its own spec"),
        ({"messages": []}, "messages"),
        ({"messages": [sound]}, "input_audio"),
        ({"messages": [assistant("I am first.")]}, "no message of a user"),
        ({"metadata": {"thread_id": "t" * 201}}, "1 to 200 printable"),
    ]
    async with client(server) as http:
        for given, words in cases:
            with pytest.raises(openai.BadRequestError, match=words):
                await http.chat.completions.create(**{"model": "helper", "messages": [user("Hi")], **given})
    assert (await server.http.get(f"{server.api}/threads")).json()["items"] == []


async def test_another_key_is_refused(server: ServedHere) -> None:
    async with client(server, "sk-other") as http:
        with pytest.raises(openai.AuthenticationError):
            await http.models.list()
