"""Vectors in Qdrant, in its local mode: the same client, without a server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic.core.agents import AgentMemoryError, HashingEmbedder, QdrantVectorIndex, VectorIndex
from agentic.core.services import free_port
from agentic.core.testing import VectorIndexContract
from agentic.core.testing.vector_contract import EMBEDDER, entry

pytestmark = [pytest.mark.integration, pytest.mark.requirement("ST02")]


class TestQdrantInMemory(VectorIndexContract):
    @pytest.fixture
    async def index(self) -> AsyncIterator[VectorIndex]:
        async with QdrantVectorIndex.open(":memory:", EMBEDDER) as index:
            yield index


class TestQdrantInFolder(VectorIndexContract):
    @pytest.fixture
    async def index(self, tmp_path: Path) -> AsyncIterator[VectorIndex]:
        async with QdrantVectorIndex.open(tmp_path, EMBEDDER, project="Zoë/1") as index:
            yield index


async def test_vectors_stay_in_their_folder(tmp_path: Path) -> None:
    async with QdrantVectorIndex.open(tmp_path, EMBEDDER) as index:
        await index.upsert([entry("north", 0, 1, 0, 0)])
    async with QdrantVectorIndex.open(tmp_path, EMBEDDER) as again:
        [match] = await again.search((0, 2, 0, 0), agent="host", user_ids=["ada"], limit=1)
    assert match.memory.content == "north"
    assert match.score == pytest.approx(1.0)


async def test_projects_in_one_place_do_not_see_each_other(tmp_path: Path) -> None:
    async with QdrantVectorIndex.open(tmp_path, EMBEDDER, project="ours") as ours:
        await ours.upsert([entry("secret", 0, 1, 0, 0)])
    async with QdrantVectorIndex.open(tmp_path, EMBEDDER, project="theirs") as theirs:
        assert await theirs.search((0, 1, 0, 0), agent="host", user_ids=["ada"], limit=9) == []
        await theirs.delete("host", "ada", [entry("secret", 0, 1, 0, 0).memory.id])
        assert await theirs.clear("host", "ada") == 0
    async with QdrantVectorIndex.open(tmp_path, EMBEDDER, project="ours") as ours:
        assert len(await ours.load("host", "ada")) == 1


async def test_vectors_of_two_embedders_never_meet(tmp_path: Path) -> None:
    async with QdrantVectorIndex.open(tmp_path, EMBEDDER) as index:
        await index.upsert([entry("north", 0, 1, 0, 0)])
    async with QdrantVectorIndex.open(tmp_path, HashingEmbedder(8)) as other:
        assert other.embedder == "hashing-1-8"
        assert await other.load("host", "ada") == []


# Its client leaves the file of the lock open that it did not get.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_folder_that_is_in_use_is_an_error(tmp_path: Path) -> None:
    async with QdrantVectorIndex.open(tmp_path, EMBEDDER):
        with pytest.raises(AgentMemoryError, match="a folder serves one process at a time"):
            async with QdrantVectorIndex.open(tmp_path, EMBEDDER):
                pass


async def test_a_server_that_is_away_is_an_error_without_its_password() -> None:
    url = f"http://ada:hunter2@localhost:{free_port()}"
    with pytest.raises(AgentMemoryError, match=r"the vectors in localhost.* cannot be used") as caught:
        async with QdrantVectorIndex.open(url, EMBEDDER):
            pass
    assert "hunter2" not in str(caught.value)


def test_without_its_client_the_error_says_how_to_install_it() -> None:
    code = (
        "import asyncio, sys; sys.modules['qdrant_client'] = None\n"
        "from agentic.core.agents import *\n"
        "async def go():\n"
        "    async with QdrantVectorIndex.open(':memory:', HashingEmbedder()): pass\n"
        "asyncio.run(go())"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("qdrant-client is not installed: pip install 'agentic-pipelines[qdrant]'")
