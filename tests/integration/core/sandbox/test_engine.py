"""The connection to a container engine, whose answers come in pieces or are odd."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agentic.core.sandbox import DockerSandbox, SandboxLimits
from agentic.core.sandbox.docker.engine import Engine, EngineError

pytestmark = pytest.mark.integration


@asynccontextmanager
async def answering(status: str, *pieces: bytes) -> AsyncIterator[Engine]:
    """An engine whose answer comes in these pieces."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        size = sum(map(len, pieces))
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n".encode())
        for piece in pieces:
            await writer.drain()
            await asyncio.sleep(0.02)  # else they are one
            writer.write(piece)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    engine = Engine(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    try:
        async with server:
            yield engine
    finally:
        await engine.aclose()


async def test_an_answer_in_pieces_is_read_to_its_end() -> None:
    text = json.dumps({"State": {"Running": True}, "Id": "a" * 50_000}).encode()
    async with answering("200 OK", text[:100], text[100:4000], text[4000:]) as engine:
        assert (await engine.call("GET", "/containers/x/json"))["State"] == {"Running": True}


async def test_a_reason_in_pieces_is_read_to_its_end() -> None:
    async with answering("409 Conflict", b'{"message": "the cont', b'ainer is gone"}') as engine:
        with pytest.raises(EngineError, match=r"HTTP 409\): the container is gone"):
            await engine.call("POST", "/containers/x/start")


@pytest.mark.parametrize("said", [b"<html>", b'{"State": ', b"[" + b"1," * 600_000 + b"1]"], ids=len)
async def test_an_answer_that_is_no_json_of_a_bearable_length_is_refused(said: bytes) -> None:
    async with answering("200 OK", said) as engine:
        with pytest.raises(EngineError, match="its answer is not JSON"):
            await engine.call("GET", "/info")


class Docker:
    """A stand-in for Docker: the output of a command ends at once, and then it has these states.

    Attributes:
        creating: Set when a container is being made.
        may_create: Until it is set, the container is not there.
        calls: Method and path of each call that has been done.
    """

    def __init__(self, *states: Mapping[str, object]) -> None:
        self.states: list[Mapping[str, object]] = list(states)
        self.creating, self.may_create = asyncio.Event(), asyncio.Event()
        self.calls: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        if request.path.endswith("/create"):
            self.creating.set()
            await self.may_create.wait()
        self.calls.append(f"{request.method} {request.path_qs}")
        if request.path.endswith("/json"):
            return web.json_response(self.states.pop(0) if len(self.states) > 1 else self.states[0])
        if request.path.endswith(("/create", "/exec")):
            return web.json_response({"Id": "x"})
        return web.Response()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[DockerSandbox]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        async with TestServer(app) as server, DockerSandbox("image", url=str(server.make_url(""))) as sandbox:
            yield sandbox


async def test_a_command_without_output_is_waited_for_up_to_its_limit() -> None:
    """Docker has no exit code of a command that runs."""
    running = {"Running": True, "ExitCode": None}
    docker = Docker(running, running, {"Running": False, "ExitCode": 3})
    docker.may_create.set()
    async with docker.serving() as sandbox:
        result = await sandbox.run({}, ["true"])
        assert (result.exit_code, result.ended) == (3, "exited")
        docker.states = [running]
        result = await sandbox.run({}, ["true"], SandboxLimits(time_s=0.1))
        assert (result.exit_code, result.ended) == (None, "time")


async def test_a_container_that_is_being_made_when_its_run_is_cancelled_is_removed() -> None:
    docker = Docker()
    async with docker.serving() as sandbox:
        run = asyncio.ensure_future(sandbox.run({}, ["true"]))
        await docker.creating.wait()
        run.cancel()
        await asyncio.sleep(0)
        docker.may_create.set()
        await asyncio.wait([run])
        assert run.cancelled()
    made, removed = docker.calls
    name = made.rpartition("name=")[2]
    assert (made.split()[0], removed) == (
        "POST", f"DELETE /v1.41/containers/{name}?force=true&v=true"
    )  # fmt: skip
