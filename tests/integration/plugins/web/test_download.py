"""Files of sites: whole or not at all, each content once, on disk and in an object store."""

from __future__ import annotations

import asyncio
import hashlib
import json
import multiprocessing
import os
import signal
import struct
import time
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from sqlalchemy import select

from agentic.core.actors import ActorContext, ActorError
from agentic.core.actors.stores import MemoryOfProcess
from agentic.core.http import FetchError, HttpPolicy, open_fetcher
from agentic.core.types import JSONValue
from agentic.executors.agents.files import INCOMING, LEFT_AFTER_S, FolderFiles
from agentic.mappers import Database, ExecutionStatus
from agentic.plugins.web.actors.download import DownloadActor, DownloadInput, content_name, media_type_of
from agentic.plugins.web.models import ItemModel

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration


def png(width: int, height: int) -> bytes:
    """Return an image of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


PNG = png(3, 2)
PDF = b"%PDF-1.7" + bytes(range(256)) * 4_000


@dataclass
class Files:
    """A site with files."""

    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path == "/robots.txt":
            return web.Response(status=404)
        tag = request.headers.get("If-None-Match", "")
        self.asked.append((path, tag))
        if path in ("/cut", "/slow"):
            return await (self._cut(request) if path == "/cut" else self._slow(request))
        answers: dict[str, Callable[[], web.Response]] = {
            "/a.png": lambda: web.Response(body=PNG, content_type="image/png"),
            "/same.png": lambda: web.Response(body=PNG, content_type="image/png"),
            "/doc": lambda: web.Response(body=PDF, content_type="application/pdf"),
            "/named.pdf": lambda: web.Response(body=PDF, content_type="application/octet-stream"),
            "/moved": lambda: web.Response(status=302, headers={"Location": "/a.png"}, text="moved"),
            "/login.jpg": lambda: web.Response(text="<p>log in", content_type="text/html"),
            "/tagged": lambda: (
                web.Response(status=304)
                if tag == '"1"'
                else web.Response(body=PDF, content_type="application/pdf", headers={"ETag": '"1"'})
            ),
        }
        return answers.get(path, lambda: web.Response(status=404))()

    async def _cut(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Length": "5000", "Content-Type": "image/png"})
        await answer.prepare(request)
        await answer.write(PNG)
        if request.transport is not None:
            request.transport.close()
        return answer

    async def _slow(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/pdf"})
        await answer.prepare(request)
        for start in range(0, len(PDF), 100_000):
            await answer.write(PDF[start : start + 100_000])
            await asyncio.sleep(0.3)
        return answer


@pytest.fixture
async def site() -> AsyncIterator[Files]:
    made = Files()
    app = web.Application()
    app.router.add_get("/{path:.*}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    listening = web.TCPSite(runner, "127.0.0.1", 0)
    await listening.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@dataclass
class Downloader:
    """Runs the actor ``download`` with a folder for its files."""

    folder: Path
    memory: MemoryOfProcess = field(default_factory=MemoryOfProcess)
    warnings: list[str] = field(default_factory=list)

    async def __call__(self, *urls: str, **config: object) -> list[dict[str, Any]]:
        policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), requests_per_second=1_000, max_bytes=2_000)
        async with open_fetcher(policy) as http:
            ctx = ActorContext(
                http=http,
                files=FolderFiles(self.folder, "run", "project"),
                memory=self.memory,
                warn=self.warnings.append,
            )
            given = DownloadInput.model_validate({"url": urls[0] if len(urls) == 1 else urls, **config})
            return list((await DownloadActor().run(ctx, given)).items or ())

    def stored(self) -> dict[str, bytes]:
        """Return the files, by their paths."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file()
        }


@pytest.fixture
def download(tmp_path: Path) -> Downloader:
    return Downloader(tmp_path / "files")


def path_of(content: bytes, ending: str) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"project/downloads/{digest[:2]}/{digest}{ending}"


async def test_a_file_is_stored_by_its_content_with_its_facts(site: Files, download: Downloader) -> None:
    [item] = await download(f"{site.url}/a.png")
    assert item == {
        "url": f"{site.url}/a.png",
        "final_url": f"{site.url}/a.png",
        "path": path_of(PNG, ".png"),
        "sha256": hashlib.sha256(PNG).hexdigest(),
        "size_bytes": len(PNG),
        "media_type": "image/png",
        "width": 3,
        "height": 2,
    }
    assert download.stored() == {item["path"]: PNG}
    assert oct((download.folder / item["path"]).stat().st_mode & 0o777) == "0o600"


async def test_a_large_file_is_limited_by_the_step_and_not_by_the_pages(
    site: Files, download: Downloader
) -> None:
    [item] = await download(f"{site.url}/doc")
    assert (item["size_bytes"], item["path"]) == (len(PDF), path_of(PDF, ".pdf"))
    with pytest.raises(FetchError, match="larger than 1000 bytes") as caught:
        await download(f"{site.url}/named.pdf", max_bytes=1_000)
    assert caught.value.failure_class == "too_large"
    assert [*download.stored()] == [item["path"]]


async def test_the_same_content_is_stored_once_and_a_redirect_is_followed(
    site: Files, download: Downloader
) -> None:
    items = await download(f"{site.url}/a.png", f"{site.url}/same.png", f"{site.url}/moved")
    assert len({item["path"] for item in items}) == 1
    assert [item["final_url"].rpartition("/")[2] for item in items] == ["a.png", "same.png", "a.png"]
    assert len(download.stored()) == 1


async def test_a_file_that_has_not_changed_is_not_sent_again(site: Files, download: Downloader) -> None:
    first = await download(f"{site.url}/tagged")
    assert await download(f"{site.url}/tagged") == first
    assert site.asked == [("/tagged", ""), ("/tagged", '"1"')]
    (download.folder / first[0]["path"]).unlink()
    assert await download(f"{site.url}/tagged") == first
    assert site.asked[2:] == [("/tagged", "")]
    assert [*download.stored()] == [first[0]["path"]]


async def test_only_wanted_types_are_stored(site: Files, download: Downloader) -> None:
    with pytest.raises(ActorError, match=r"/login\.jpg is text/html; accepted types: image/\*") as caught:
        await download(f"{site.url}/login.jpg", types=["image/*"])
    assert caught.value.failure_class == "wrong_type"
    assert download.stored() == {}
    assert len(await download(f"{site.url}/a.png", types=["application/pdf", "image/*"])) == 1


async def test_a_file_that_was_cut_off_is_not_stored(site: Files, download: Downloader) -> None:
    with pytest.raises(FetchError) as caught:
        await download(f"{site.url}/cut")
    assert caught.value.failure_class == "connect"
    assert download.stored() == {}


async def test_some_of_several_files_may_fail_with_a_warning(site: Files, download: Downloader) -> None:
    items = await download(f"{site.url}/a.png", f"{site.url}/none", f"{site.url}/doc")
    assert [item["media_type"] for item in items] == ["image/png", "application/pdf"]
    assert len(download.warnings) == 1
    assert "/none" in download.warnings[0]
    with pytest.raises(FetchError) as caught:
        await download(f"{site.url}/none", f"{site.url}/none2")
    assert caught.value.failure_class == "http_404"


@pytest.mark.parametrize(
    "folder", ["../up", "/tmp", "a//b", "file:///tmp/x", "sftp://host/x", "https://a.example/x"]
)
async def test_a_folder_elsewhere_is_refused(site: Files, download: Downloader, folder: str) -> None:
    with pytest.raises(ActorError, match="is not a valid file name"):
        await download(f"{site.url}/a.png", folder=folder)


async def test_files_may_go_to_an_object_store(site: Files, download: Downloader) -> None:
    import fsspec

    [item] = await download(f"{site.url}/a.png", folder="memory://bucket/images")
    [again] = await download(f"{site.url}/same.png", folder="memory://bucket/images")
    assert (
        item["path"]
        == again["path"]
        == f"memory://bucket/images/{content_name(item['sha256'], 'image/png', '')}"
    )
    assert fsspec.filesystem("memory").cat_file(item["path"]) == PNG
    assert download.stored() == {}


@pytest.mark.parametrize(
    ("said", "url", "expected"),
    [
        ("image/png; charset=x", "http://a.example/a.jpg", "image/png"),
        ("", "http://a.example/a.jpg?x=1", "image/jpeg"),
        ("application/octet-stream", "http://a.example/b%2Epdf", "application/pdf"),
        ("application/octet-stream", "http://a.example/b", "application/octet-stream"),
    ],
)
def test_a_server_that_does_not_know_the_type_is_helped_by_the_url(
    said: str, url: str, expected: str
) -> None:
    assert media_type_of(said, url) == expected


def _slow_download(url: str, folder: str) -> None:
    asyncio.run(Downloader(Path(folder))(f"{url}/slow"))


async def test_a_killed_download_leaves_nothing_that_looks_whole(site: Files, download: Downloader) -> None:
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_slow_download, args=(site.url, str(download.folder)))
    process.start()
    deadline = time.monotonic() + 60
    while not any(content for content in download.stored().values()):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    os.kill(process.pid or 0, signal.SIGKILL)
    await asyncio.to_thread(process.join)
    [left] = download.stored()
    assert Path(left).parts[0] == INCOMING
    old = time.time() - LEFT_AFTER_S - 1
    os.utime(download.folder / left, (old, old))
    [item] = await download(f"{site.url}/doc")
    assert [*download.stored()] == [item["path"]]


async def test_a_pipeline_stores_a_row_for_each_file(
    site: Files, make_agent: MakeAgent, run_agent: RunAgent, database: Database
) -> None:
    spec: JSONValue = {
        "name": "files",
        "inputs": {"urls": {"type": "list"}},
        "steps": [{"actor": "download", "config": {"url": "${inputs.urls}", "types": ["image/*"]}}],
    }
    outcome = await run_agent(
        make_agent(pipeline=spec, inputs={"urls": [f"{site.url}/a.png", f"{site.url}/doc"]})
    )
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert any("/doc is application/pdf" in warning for warning in outcome.warnings)
    with database.reading() as session:
        [row] = session.scalars(select(ItemModel.data))
    assert (row["url"], row["width"]) == (f"{site.url}/a.png", 3)
    json.dumps(row)
