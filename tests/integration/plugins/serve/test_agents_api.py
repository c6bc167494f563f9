"""Agents over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.integration.plugins.serve.conftest import AddAgent
from tests.serving import ServedHere

pytestmark = [pytest.mark.integration, pytest.mark.requirement("AG24")]


async def test_an_agent_answers_and_remembers_the_thread(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n- You said hi.\n")
    path = f"{server.api}/agents/helper/messages"
    first = (await server.http.post(path, json={"message": "Hi", "user_id": "ann"})).json()
    assert (first["status"], first["text"]) == ("complete", "Hello.")
    again = await server.http.post(path, json={"message": "What did I say?", "thread_id": first["thread_id"]})
    assert again.json()["text"] == "You said hi."
    thread = (await server.http.get(f"{server.api}/threads/{first['thread_id']}")).json()
    assert [message["role"] for message in thread["messages"]] == ["user", "assistant"] * 2
    assert thread["user_id"] == "ann"
    (listed,) = (await server.http.get(f"{server.api}/threads", params={"user_id": "ann"})).json()["items"]
    assert listed["id"] == first["thread_id"]
    assert (await server.http.delete(f"{server.api}/threads/{first['thread_id']}")).status_code == 204
    assert (await server.http.get(f"{server.api}/threads/{first['thread_id']}")).status_code == 404


async def test_an_answer_is_asked_for_with_its_token(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n")
    path = f"{server.api}/agents/helper/messages"
    begun = await server.http.post(path, json={"message": "Hi", "background": True})
    assert begun.status_code in (200, 202)
    token = begun.json()["token"]
    answer = await server.http.get(
        f"{server.api}/agents/helper/answers/{token}", headers={"prefer": "wait=20"}
    )
    assert (answer.status_code, answer.json()["text"]) == (200, "Hello.")
    stopped = await server.http.delete(f"{server.api}/agents/helper/answers/{token}")
    assert stopped.json() == {"cancelled": False}
    bad = await server.http.get(f"{server.api}/agents/helper/answers/nonsense")
    assert (bad.status_code, bad.json()["code"]) == (422, "continuation_token")


async def test_the_same_key_is_the_same_run(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n- Hello again.\n")
    path, key = f"{server.api}/agents/helper/messages", {"idempotency-key": "k1"}
    body = {"message": "Hi", "thread_id": "t1"}
    answers = await asyncio.gather(*(server.http.post(path, json=body, headers=key) for _ in range(4)))
    assert {answer.json().get("text", answer.text) for answer in answers} == {"Hello."}
    thread = (await server.http.get(f"{server.api}/threads/t1")).json()
    assert len(thread["messages"]) == 2


async def test_pieces_are_streamed_and_a_reader_that_is_cut_continues(
    server: ServedHere, add: AddAgent
) -> None:
    add("helper", "- call: {find_order: {number: 7}}\n- It is a lamp.\n", tools=["./tools.py:find_order"])
    headers = {"accept": "text/event-stream"}
    path = f"{server.api}/agents/helper/messages"
    async with server.http.stream("POST", path, json={"message": "Order 7?"}, headers=headers) as answer:
        lines = [line async for line in answer.aiter_lines()]
    pieces = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    kept = [piece for piece in pieces if piece["kind"] not in ("text", "thinking", "restarted")]
    assert [piece["kind"] for piece in kept] == ["message", "tool_finished", "message", "finished"]
    assert "".join(piece["text"] for piece in pieces if piece["kind"] == "text") in ("", "It is a lamp.")
    assert pieces[-1]["answer"]["text"] == "It is a lamp."
    ids = [line.removeprefix("id: ") for line in lines if line.startswith("id: ")]
    rest = await server.http.get(
        f"{server.api}/agents/helper/answers/{ids[0]}", headers={**headers, "last-event-id": ids[1]}
    )
    found = [
        json.loads(one.removeprefix("data: ")) for one in rest.text.splitlines() if one.startswith("data: ")
    ]
    assert [piece["kind"] for piece in found if piece["kind"] != "text"] == ["message", "finished"]


async def test_a_call_waits_for_an_answer_over_http(server: ServedHere, add: AddAgent, home: Path) -> None:
    add("helper", "- call: {refund: {number: 7}}\n- It is paid.\n", tools=["./tools.py:refund"])
    path = f"{server.api}/agents/helper/messages"
    asked = (await server.http.post(path, json={"message": "Pay me back."})).json()
    (request,) = asked["pending"]
    assert (asked["status"], request["call"]["arguments"]) == ("needs_input", {"number": 7})
    thread = asked["thread_id"]
    busy = await server.http.post(path, json={"message": "Now!", "thread_id": thread})
    assert (busy.status_code, busy.json()["code"]) == (409, "thread_busy")
    given = {"answers": [{"request_id": request["id"], "approved": True}], "thread_id": thread}
    answered = (await server.http.post(path, json=given)).json()
    assert (answered["status"], answered["text"]) == ("complete", "It is paid.")
    again = await server.http.post(path, json=given)
    assert again.status_code == 404
    assert (home.parent / "done.txt").read_text() == "refund 7\n"


async def test_turns_over_http_are_rows_and_usage(server: ServedHere, add: AddAgent) -> None:
    from agentic.plugins.chat.models import ChatTurnModel

    add("helper", "- Hello.\n")
    path = f"{server.api}/agents/helper/messages"
    await server.http.post(path, json={"message": "Hi", "user_id": "ann"})
    with server.project.database.reading() as session:
        (turn,) = session.query(ChatTurnModel).all()
    assert (turn.agent, turn.prompt, turn.text, turn.user_id) == ("helper", "Hi", "Hello.", "ann")


async def test_another_project_is_not_there(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n")
    add("secret", "- Hush.\n", project="other")
    agents = (await server.http.get(f"{server.api}/agents")).json()["items"]
    assert [agent["name"] for agent in agents] == ["helper"]
    assert (await server.http.get(f"{server.api}/agents/secret")).status_code == 404
    other = server.api.replace("/default", "/other")
    assert (await server.http.get(f"{other}/agents")).status_code == 404
    assert (
        await server.http.post(f"{other}/agents/secret/messages", json={"message": "Hi"})
    ).status_code == 404


async def test_a_bad_message_gets_a_reason_and_no_value(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n")
    cases: list[tuple[Any, int]] = [
        ({}, 422),
        ({"message": ""}, 422),
        ({"message": "Hi", "answers": [{"request_id": "1"}]}, 422),
        ({"answers": [{"request_id": "1"}]}, 422),
        ({"message": "Hi", "password-1": "hunter2"}, 422),
        ({"message": "Hi", "thread_id": "run-1"}, 404),
        ({"message": "Hi", "thread_id": "a\0b"}, 422),
        ({"message": "Hi", "user_id": "a\nb"}, 422),
        ({"message": 5}, 422),
        ([], 422),
    ]
    path = f"{server.api}/agents/helper/messages"
    for body, status in cases:
        answer = await server.http.post(path, json=body)
        assert (answer.status_code, body) == (status, body)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]
        assert "hunter2" not in answer.text
    assert (
        await server.http.post(path, content=b"{", headers={"content-type": "text/plain"})
    ).status_code == 422


async def test_secrets_of_a_config_are_masked(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n", options={"api_key": "sk-live-123456789"})
    shown = await server.http.get(f"{server.api}/agents/helper")
    assert "sk-live" not in shown.text


async def test_an_agent_of_another_platform_takes_no_messages(server: ServedHere) -> None:
    from agentic.mappers import add_agent, find_project

    with server.project.database.writing() as session:
        add_agent(session, find_project(session, "default"), "shop", "web", {})
    answer = await server.http.post(f"{server.api}/agents/shop/messages", json={"message": "Hi"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_talking")
    assert "start an execution" in answer.json()["detail"]


async def test_calls_without_a_thread_with_one_key_are_one_run(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n- Hello again.\n")
    path, key = f"{server.api}/agents/helper/messages", {"idempotency-key": "k1"}
    answers = [(await server.http.post(path, json={"message": "Hi"}, headers=key)).json() for _ in range(2)]
    assert answers[0]["thread_id"] == answers[1]["thread_id"]
    assert len((await server.http.get(f"{server.api}/threads")).json()["items"]) == 1


async def test_odd_text_of_a_model_reaches_every_reader(server: ServedHere, add: AddAgent) -> None:
    add("helper", '- "half a pair \\uD83D and \\0 and é"\n')
    path = f"{server.api}/agents/helper/messages"
    answer = await server.http.post(path, json={"message": "Hi", "thread_id": "odd"})
    assert answer.status_code == 200, answer.text
    assert json.loads(answer.text)["text"].endswith("é")
    chat = {"model": "helper", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    assert "[DONE]" in (await server.http.post("/v1/chat/completions", json=chat)).text
    body, headers = json.dumps({"message": "half \ud83d"}), {"content-type": "application/json"}
    assert (await server.http.post(path, content=body, headers=headers)).status_code == 422
    given = {"threadId": "new", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "Hi"}]}
    assert "RUN_FINISHED" in (await server.http.post("/ag-ui/helper", json=given)).text


async def test_messages_at_the_same_time_are_answered_or_refused_but_never_lost(
    server: ServedHere, add: AddAgent
) -> None:
    add("helper", "".join(f"- Answer {number}.\n" for number in range(9)))
    path = f"{server.api}/agents/helper/messages"
    await server.http.post(path, json={"message": "first", "thread_id": "t"})
    bodies = [{"message": f"at once {number}", "thread_id": "t"} for number in range(5)]
    answers = await asyncio.gather(*(server.http.post(path, json=body) for body in bodies))
    assert {answer.status_code for answer in answers} <= {200, 409}
    pairs = zip(bodies, answers, strict=True)
    taken = [body["message"] for body, answer in pairs if answer.status_code == 200]
    assert taken
    last = await server.http.post(path, json={"message": "last", "thread_id": "t"})
    assert last.status_code == 200
    messages = (await server.http.get(f"{server.api}/threads/t")).json()["messages"]
    said = [str(one["parts"][0].get("text")) for one in messages if one["role"] == "user"]
    assert sorted(said[1:-1]) == sorted(taken)


async def test_a_stopped_run_is_continued_by_the_next_message(
    server: ServedHere, add: AddAgent, home: Path
) -> None:
    (home.parent / "slow.py").write_text(
        "import asyncio\nfrom pathlib import Path\n\n\n"
        "async def wait() -> str:\n    '''Wait.'''\n    Path(__file__).with_name('begun').touch()\n"
        "    await asyncio.sleep(60)\n    return 'never'\n"
    )
    add("helper", "- call: {wait: {}}\n- Stopped, then.\n", tools=["./slow.py:wait"])
    path = f"{server.api}/agents/helper"
    begun = (await server.http.post(f"{path}/messages", json={"message": "Go", "background": True})).json()
    async with asyncio.timeout(30):
        while not (home.parent / "begun").exists():  # noqa: ASYNC110  # a file of a tool
            await asyncio.sleep(0.02)
    body = {"message": "And?", "thread_id": begun["thread_id"]}
    busy = await server.http.post(f"{path}/messages", json=body)
    assert (busy.status_code, busy.json()["code"]) == (409, "task_under_way")
    assert (await server.http.delete(f"{path}/answers/{begun['token']}")).json() == {"cancelled": True}
    answer = await server.http.get(f"{path}/answers/{begun['token']}", headers={"prefer": "wait=20"})
    assert answer.json()["reason"] == "cancelled: stopped over HTTP"
