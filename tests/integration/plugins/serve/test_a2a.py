"""Agents of a served project over A2A: their turns are durable runs."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.types import a2a_pb2 as pb
from tests.integration.plugins.a2a.scene import everything, saying
from tests.integration.plugins.serve.conftest import AddAgent
from tests.serving import TOKEN, ServedHere

from agentic.core.agents import RequestAnswer
from agentic.plugins.a2a import ProxyAgent

pytestmark = [pytest.mark.integration, pytest.mark.requirement("AG22", "AG24")]


async def test_an_agent_of_the_project_answers_and_asks_over_a2a(
    server: ServedHere, add: AddAgent, home: Path
) -> None:
    script = "- call: {refund: {number: 7}}\n- It is done.\n"
    add("helper", script, tools=["./tools.py:refund"], description="Helps customers.")
    add("stranger", "- No.\n", project="other")
    listed = (await server.http.get("/a2a/")).json()
    assert listed == {"agents": {"helper": f"{server.url}/a2a/helper"}}
    assert (await server.http.get("/a2a/stranger/.well-known/agent-card.json")).status_code == 404
    headers = {"authorization": f"Bearer {TOKEN}", "a2a-version": "1.0"}
    async with httpx.AsyncClient(headers=headers, trust_env=False) as http:
        card = await A2ACardResolver(http, f"{server.url}/a2a/helper").get_agent_card()
        assert (card.name, card.description) == ("helper", "Helps customers.")
        client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        asked = (await everything(client, saying("Pay me back.")))[-1].status_update
        assert asked.status.state == pb.TaskState.TASK_STATE_INPUT_REQUIRED
        done = await everything(client, saying("yes", task_id=asked.task_id))
        assert done[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED
    assert (home.parent / "done.txt").read_text() == "refund 7\n"
    proxy = ProxyAgent("remote", f"{server.url}/a2a/helper", token=TOKEN)
    thread = proxy.new_thread()
    pending = (await proxy.run("Pay me back.", thread)).pending[0]
    answer = RequestAnswer(request_id=pending.id, approved=False)
    assert (await proxy.run(answer, thread)).text == "It is done."
    runs = (await server.http.get(f"{server.api}/runs")).json()
    assert len(runs["items"]) == 4
