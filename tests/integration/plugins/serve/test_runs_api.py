"""Executions, runs, requests and the OpenAPI document over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from starlette.routing import Mount, Route
from tests.integration.plugins.serve.conftest import AddAgent
from tests.serving import ServedHere
from tests.unit.core.hooks.conftest import Site

from agentic.core.hooks import get_registry
from agentic.core.pipeline import read_spec
from agentic.mappers import create_execution, find_agent, find_project
from agentic.mappers.catalog.pipelines import store_pipeline
from agentic.plugins.serve.app import endpoints_of, make_app
from agentic.plugins.serve.chat_runs import ChatRuns

pytestmark = [pytest.mark.integration, pytest.mark.requirement("AG24")]

FLOWS = """
    import asyncio
    from agentic.core import WorkflowBuilder, WorkflowContext
    from agentic.core.graph import Executor, handler
    from agentic.core.hooks import hookimpl
    from pydantic import BaseModel

    class Order(BaseModel):
        __wire_name__ = "served.Order"
        number: int

    class Ask(Executor):
        @handler
        async def on_order(self, order: Order, ctx: WorkflowContext) -> str:
            answer = await ctx.request_info(f"Ship order {order.number}?", str)
            return f"{order.number}: {answer}"

    class Survey(Executor):
        @handler
        async def on_text(self, text: str, ctx: WorkflowContext) -> list:
            asked = [ctx.request_info(f"{text} {number}?", str, number=number) for number in (1, 2)]
            return await asyncio.gather(*asked)

    class Echo(Executor):
        @handler
        async def on_text(self, text: str, ctx: WorkflowContext) -> str:
            return text.upper()

    def shipping():
        return WorkflowBuilder("shipping", version="1").set_start(Ask("ask")).build()

    def echoing():
        return WorkflowBuilder("echoing", version="1").set_start(Echo("echo")).build()

    def surveying():
        return WorkflowBuilder("surveying", version="1").set_start(Survey("ask")).build()

    def broken():
        raise ValueError("no graph today")

    @hookimpl
    def agentic_workflows():
        return {"shipping": shipping, "echoing": echoing, "surveying": surveying, "broken": broken}
"""
PIPELINE = {
    "name": "greeting",
    "inputs": {"word": {"description": "A word."}},
    "steps": [{"actor": "aggregate", "config": {"items": "${[{url: inputs.word}]}", "key": "url"}}],
}


@pytest.fixture(autouse=True)
def flows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed plugin with workflows."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    Site(folder).install("flows", FLOWS, distribution="agentic-plugin-served-flows")
    get_registry.cache_clear()
    yield
    get_registry.cache_clear()


async def test_a_workflow_runs_with_its_input_and_its_question_is_answered(server: ServedHere) -> None:
    listed = (await server.http.get(f"{server.api}/workflows")).json()["items"]
    by_name = {one["name"]: one for one in listed}
    assert by_name["shipping"]["takes"] == ["Order"]
    assert "no graph today" in by_name["broken"]["error"]
    body = {"workflow": "shipping", "input": {"number": 7}}
    begun = await server.http.post(f"{server.api}/runs", json=body, headers={"prefer": "wait=20"})
    assert (begun.status_code, begun.json()["status"]) == (200, "waiting_input")
    run_id = begun.json()["id"]
    assert begun.headers["location"].endswith(f"/runs/{run_id}")
    (asked,) = (await server.http.get(f"{server.api}/requests")).json()["items"]
    assert (asked["run_id"], asked["text"]) == (run_id, "Ship order 7?")
    wrong = await server.http.post(f"{server.api}/requests/{asked['id']}/answer", json={"answer": 5})
    assert wrong.status_code == 422
    path = f"{server.api}/requests/{asked['id']}/answer"
    assert (await server.http.post(path, json={"answer": "yes", "by": "ann"})).json()["run_id"] == run_id
    headers = {"accept": "text/event-stream"}
    stream = await server.http.get(f"{server.api}/runs/{run_id}/events", headers=headers)
    names = [line.removeprefix("event: ") for line in stream.text.splitlines() if line.startswith("event: ")]
    assert names[-1] == "rest"
    ids = [int(line.removeprefix("id: ")) for line in stream.text.splitlines() if line.startswith("id: ")]
    assert ids == list(range(1, len(ids) + 1))
    rest = await server.http.get(
        f"{server.api}/runs/{run_id}/events", headers={**headers, "last-event-id": str(ids[-3])}
    )
    assert [line for line in rest.text.splitlines() if line.startswith("id: ")] == [
        f"id: {number}" for number in ids[-2:]
    ]
    assert (await server.http.get(f"{server.api}/runs/{run_id}")).json()["outputs"] == ["7: yes"]
    assert (await server.http.post(path, json={"answer": "no"})).status_code in (404, 409)
    page = (await server.http.get(f"{server.api}/runs/{run_id}/events", params={"after": ids[-2]})).json()
    assert page["last"] == ids[-1]


async def test_no_page_of_requests_leaves_one_out(server: ServedHere) -> None:
    for _ in range(2):
        body = {"workflow": "surveying", "input": "two sizes"}
        await server.http.post(f"{server.api}/runs", json=body, headers={"prefer": "wait=20"})
    all_of_them = (await server.http.get(f"{server.api}/requests")).json()
    assert (len(all_of_them["items"]), all_of_them["next"]) == (4, None)
    found: list[dict[str, object]] = []
    cursor = None
    while len(found) < 9:
        given = {"limit": 1, **({"cursor": cursor} if cursor else {})}
        page = (await server.http.get(f"{server.api}/requests", params=given)).json()
        found += page["items"]
        if (cursor := page["next"]) is None:
            break
    assert found == all_of_them["items"]


async def test_runs_are_listed_and_cancelled_and_a_key_starts_one_once(server: ServedHere) -> None:
    body, key = {"workflow": "shipping", "input": {"number": 1}}, {"idempotency-key": "k"}
    first = (await server.http.post(f"{server.api}/runs", json=body, headers=key)).json()
    assert (await server.http.post(f"{server.api}/runs", json=body, headers=key)).json()["id"] == first["id"]
    await server.http.post(
        f"{server.api}/runs", json={"workflow": "echoing", "input": "hi"}, headers={"prefer": "wait=9"}
    )
    page = (await server.http.get(f"{server.api}/runs", params={"limit": 1})).json()
    rest = (await server.http.get(f"{server.api}/runs", params={"limit": 1, "cursor": page["next"]})).json()
    assert [one["workflow"] for one in (*page["items"], *rest["items"])] == ["echoing", "shipping"]
    assert rest["next"] is None
    path = f"{server.api}/runs/{first['id']}/cancel"
    assert (await server.http.post(path, json={"reason": "too late"})).json() == {"cancelled": True}
    for bad, status in (
        ({"workflow": "nothing"}, 404),
        ({"workflow": "shipping", "input": {"number": "x"}}, 422),
        ({"workflow": "os:system", "input": "true"}, 404),
        ({"workflow": "agent:web:1:2"}, 422),
    ):
        assert ((await server.http.post(f"{server.api}/runs", json=bad)).status_code, bad) == (status, bad)
    assert (await server.http.get(f"{server.api}/runs/{first['id'][:8]}")).status_code == 404


async def test_an_execution_starts_ends_and_shows_its_rows(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n", prompt="Say hello.")
    headers = {"prefer": "wait=30", "idempotency-key": "daily"}
    started = await server.http.post(f"{server.api}/executions", json={"agent": "helper"}, headers=headers)
    assert (started.status_code, started.json()["status"]) == (200, "succeeded"), started.text
    again = await server.http.post(f"{server.api}/executions", json={"agent": "helper"}, headers=headers)
    assert again.json()["id"] == started.json()["id"]
    path = started.headers["location"]
    rows = (await server.http.get(f"{path}/rows")).json()
    assert (rows["table"], rows["rows"][0]["text"], rows["is_cut"]) == ("chat_turns", "Hello.", False)
    lines = (await server.http.get(f"{path}/rows.jsonl")).text.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["Hello."]
    listed = (await server.http.get(f"{server.api}/executions", params={"status": "succeeded"})).json()
    assert [one["id"] for one in listed["items"]] == [started.json()["id"]]
    assert (await server.http.get(f"{server.api}/executions", params={"status": "odd"})).status_code == 422
    assert (await server.http.get(f"{path}/rows", params={"table": "agents"})).status_code in (404, 422)
    assert (await server.http.post(f"{path}/cancel", json={})).json() == {"cancelled": False}
    for bad, status in (
        ({}, 422),
        ({"agent": "nobody"}, 404),
        ({"agent": "helper", "inputs": {"a": 1}}, 422),
    ):
        assert (await server.http.post(f"{server.api}/executions", json=bad)).status_code == status


async def test_a_stored_pipeline_runs_with_inputs(server: ServedHere) -> None:
    spec = read_spec(PIPELINE, get_registry().actors)
    with server.project.database.writing() as session:
        store_pipeline(session, find_project(session, "default").id, spec)
    (listed,) = (await server.http.get(f"{server.api}/pipelines")).json()["items"]
    assert (listed["name"], listed["version"], list(listed["inputs"])) == ("greeting", 1, ["word"])
    body: dict[str, Any] = {"pipeline": "greeting", "inputs": {"word": "hello"}}
    headers = {"prefer": "wait=30"}
    started = await server.http.post(f"{server.api}/executions", json=body, headers=headers)
    assert started.json()["status"] == "succeeded", started.text
    with server.project.database.writing() as session:  # one that no worker has begun
        waiting = create_execution(session, find_agent(session, server.project.id, "greeting")).id
    other = {**body, "inputs": {"word": "bye"}}
    busy = await server.http.post(f"{server.api}/executions", json=other)
    assert (busy.status_code, busy.json()["code"]) == (409, "pipeline_busy")
    await server.http.post(f"{server.api}/executions/{waiting}/cancel", json={})
    assert (await server.http.post(f"{server.api}/executions", json=other)).status_code in (200, 202)
    bad = await server.http.post(f"{server.api}/executions", json={**body, "inputs": {}})
    assert bad.status_code == 422
    assert "word" in bad.json()["detail"]


async def test_the_openapi_document_agrees_with_the_routes_and_the_answers(
    server: ServedHere, add: AddAgent
) -> None:
    document = (await server.http.get("/openapi.json")).json()
    app: Any = make_app(server.project)
    routes = {
        (route.path, method)
        for route in app.routes
        if isinstance(route, Route) and route.path.startswith("/api/")
        for method in (route.methods or set()) - {"HEAD"}
    }
    described = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    assert routes == described
    assert not any(isinstance(route, Mount) for route in app.routes)
    add("helper", "- Hello.\n")
    await server.http.post(f"{server.api}/agents/helper/messages", json={"message": "Hi"})
    checked = 0
    for endpoint in endpoints_of(ChatRuns(server.project)):
        operation = document["paths"][endpoint.path][endpoint.method.lower()]
        names = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
        assert names == {part.strip("{}") for part in endpoint.path.split("/") if part.startswith("{")}
        if endpoint.method != "GET" or names != {"project"}:
            continue
        answer = await server.http.get(endpoint.path.replace("{project}", "default"))
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(answer.json(), {**schema, "components": document["components"]})
        checked += 1
    assert checked >= 6


async def test_a_list_refuses_unknown_parameters(server: ServedHere) -> None:
    for path, given in (
        ("runs", {"sort": "x"}),
        ("executions", {"limit": "0"}),
        ("threads", {"limit": "999"}),
    ):
        assert (await server.http.get(f"{server.api}/{path}", params=given)).status_code == 422
