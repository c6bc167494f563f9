from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from agentic.fakes.control import Fault
from agentic.fakes.errors import AddressTakenError
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(seed=5, stories=40, products=30) as started:
        yield started


@pytest.fixture
def fakes(server: FakeServer) -> FakeServer:
    server.control.reset()
    return server


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()


def ask(fakes: FakeServer, path: str, method: str = "GET", body: object = None) -> Answer:
    connection = http.client.HTTPConnection(fakes.host, fakes.port, timeout=10)
    try:
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        connection.request(method, path, body=data)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def test_every_fake_answers_below_its_own_path(fakes: FakeServer) -> None:
    assert len(json.loads(ask(fakes, "/hackernews/v0/topstories.json").body)) == 40
    assert b"<title>The Small Shop</title>" in ask(fakes, "/shop/").body
    assert ask(fakes, "/hackernews/v0/item/1.json").body == b"null"
    assert ask(fakes, "/nothing").status == 404
    assert ask(fakes, "/shop/nothing").status == 404


def test_urls_point_to_the_fakes(fakes: FakeServer) -> None:
    assert fakes.hackernews_url == f"http://127.0.0.1:{fakes.port}/hackernews/v0"
    assert fakes.shop_url == f"http://127.0.0.1:{fakes.port}/shop/"
    assert fakes.control_url == f"http://127.0.0.1:{fakes.port}/__control"


def test_robots_txt_and_sitemap_name_the_address_they_were_asked_at(fakes: FakeServer) -> None:
    robots = ask(fakes, "/robots.txt").body.decode()
    assert "Disallow: /shop/private/\n" in robots
    assert f"Sitemap: {fakes.shop_url}sitemap.xml\n" in robots
    assert f"<loc>{fakes.shop_url}product/30</loc>" in ask(fakes, "/shop/sitemap.xml").body.decode()


def test_the_shop_without_its_slash_leads_to_the_shop(fakes: FakeServer) -> None:
    answer = ask(fakes, "/shop")
    assert (answer.status, answer.headers["location"]) == (307, fakes.shop_url)


def test_head_has_no_body_and_other_methods_are_refused(fakes: FakeServer) -> None:
    head = ask(fakes, "/shop/", "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["content-length"]) > 0
    assert ask(fakes, "/shop/", "POST").status == 405


def test_two_servers_with_one_seed_send_the_same_bytes(fakes: FakeServer) -> None:
    paths = ["/hackernews/v0/topstories.json", "/hackernews/v0/updates.json", "/shop/", "/shop/product/9"]
    with FakeServer(seed=5, stories=40, products=30) as other:
        assert [ask(fakes, path).body for path in paths] == [ask(other, path).body for path in paths]


def test_a_fault_sent_to_the_control_route_happens(fakes: FakeServer) -> None:
    fault = {"path": "/shop/*", "status": 429, "times": 1, "retry_after_s": 3}
    assert ask(fakes, "/__control/faults", "POST", fault).status == HTTPStatus.CREATED
    answer = ask(fakes, "/shop/product/1")
    assert (answer.status, answer.headers["retry-after"]) == (429, "3")
    assert ask(fakes, "/shop/product/1").status == 200


def test_a_fault_can_send_on_to_another_place(fakes: FakeServer) -> None:
    fakes.control.add(Fault(path="/feeds/old.xml", status=301, location="/feeds/rss.xml"))
    answer = ask(fakes, "/feeds/old.xml")
    assert (answer.status, answer.headers["location"]) == (301, "/feeds/rss.xml")


def test_feeds_change_as_the_control_route_is_told(fakes: FakeServer) -> None:
    assert ask(fakes, "/__control/feeds", "POST", {"held_back": 49}).status == HTTPStatus.CREATED
    assert len(json.loads(ask(fakes, "/feeds/feed.json").body)["items"]) == 1
    assert ask(fakes, "/__control/feeds", "POST", {"held_back": -1}).status == 422


def test_a_delayed_answer_comes_late_but_whole(fakes: FakeServer) -> None:
    fakes.control.add(Fault(path="/shop/product/1", delay_s=0.2))
    started = time.monotonic()
    assert ask(fakes, "/shop/product/1").status == 200
    assert time.monotonic() - started >= 0.2


def test_a_truncated_answer_ends_before_its_declared_length(fakes: FakeServer) -> None:
    fakes.control.add(Fault(path="/shop/product/1", truncate=10))
    with pytest.raises(http.client.IncompleteRead) as caught:
        ask(fakes, "/shop/product/1")
    assert len(caught.value.partial) == 10


def test_requests_are_counted_and_forgotten_over_http(fakes: FakeServer) -> None:
    for path in ("/shop/", "/shop/category/lamps?page=2", "/shop/"):
        ask(fakes, path)
    stats = json.loads(ask(fakes, "/__control/stats").body)
    assert stats["requests"] == {"/shop/": 2, "/shop/category/lamps?page=2": 1}
    assert ask(fakes, "/__control/reset", "POST").status == HTTPStatus.NO_CONTENT
    assert json.loads(ask(fakes, "/__control/stats").body)["total"] == 0


@pytest.mark.requirement("PL39")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"path": "/", "status": 500, "times": 0}, "times"),
        ({"path": "/", "stauts": 500}, "stauts"),
        ({"status": 500}, "path"),
        ({"path": "/"}, "body"),
        ([], "body"),
        (b"{", "body"),
        (b"\xff", "body"),
    ],
)
def test_bad_control_input_is_refused_naming_the_field(fakes: FakeServer, body: object, field: str) -> None:
    answer = ask(fakes, "/__control/faults", "POST", body)
    assert answer.status == HTTPStatus.UNPROCESSABLE_ENTITY
    assert field in [error["field"] for error in json.loads(answer.body)["errors"]]
    assert fakes.control.stats()["faults_waiting"] == 0


def test_a_server_that_ended_listens_no_more_and_its_port_is_free() -> None:
    with FakeServer(stories=1, products=1) as started:
        port = started.port
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    with FakeServer(stories=1, products=1, port=port) as again:
        assert ask(again, "/shop/").status == 200


def test_a_server_ends_although_an_answer_is_still_due() -> None:
    with FakeServer(stories=1, products=1) as started:
        started.control.add(Fault(path="/shop/", delay_s=60))
        with socket.create_connection((started.host, started.port)) as waiting:
            waiting.sendall(b"GET /shop/ HTTP/1.1\r\nHost: h\r\n\r\n")
            while not started.control.stats()["total"]:
                time.sleep(0.01)


def test_a_port_in_use_is_one_clear_error(fakes: FakeServer) -> None:
    with (
        pytest.raises(AddressTakenError, match=rf"127\.0\.0\.1:{fakes.port} .*choose another port"),
        FakeServer(stories=1, products=1, port=fakes.port),
    ):
        pytest.fail("it started")


def agentic(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("agentic")), *arguments]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_prints_where_it_listens_and_stops_on_a_signal(
    tmp_path: Path, number: signal.Signals
) -> None:
    port_file = tmp_path / "port"
    command = agentic("fakes", "serve", "--seed", "5", "--stories", "40", "--port-file", str(port_file))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        addresses = dict(process.stdout.readline().split() for _ in range(14))
        while not port_file.exists():
            time.sleep(0.01)
        base = f"http://127.0.0.1:{port_file.read_text().strip()}"
        process.send_signal(number)
        output, errors = process.communicate(timeout=20)
    assert addresses == {
        "hackernews": f"{base}/hackernews/v0",
        "algolia": f"{base}/hackernews/api/v1",
        "shop": f"{base}/shop/",
        "jobs": f"{base}/jobs/",
        "feeds": f"{base}/feeds/",
        "news": f"{base}/news/",
        "hostile": f"{base}/hostile/",
        "firecrawl": f"{base}/firecrawl",
        "github": f"{base}/github",
        "reddit": f"{base}/reddit",
        "reddit-api": f"{base}/reddit/oauth",
        "reddit-archive": f"{base}/reddit/archive",
        "sink": f"{base}/sink/",
        "control": f"{base}/__control",
    }
    assert (process.returncode, output, errors) == (0, "", "")


def test_the_command_names_a_port_in_use_without_a_traceback(fakes: FakeServer) -> None:
    result = subprocess.run(
        agentic("fakes", "serve", "--port", str(fakes.port)),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 1
    assert f"cannot listen on 127.0.0.1:{fakes.port}" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("library", ["starlette", "uvicorn"])
def test_without_the_extra_the_error_says_what_to_install(library: str) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from agentic.fakes.errors import MissingExtraError\n"
        "from agentic.fakes.server import FakeServer\n"
        "try: FakeServer()\nexcept MissingExtraError as exc: print(exc)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"the fakes need {library}" in result.stdout
    assert "pip install 'agentic-pipelines[local]'" in result.stdout


def test_loading_the_plugin_loads_no_server_library() -> None:
    code = (
        "import sys, agentic.fakes.plugin\n"
        "sys.exit(not {'starlette', 'uvicorn', 'agentic.fakes.app'}.isdisjoint(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
