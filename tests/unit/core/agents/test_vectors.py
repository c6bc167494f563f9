"""Vectors: embedders without a model, and the index in memory."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.agents import HashingEmbedder, InMemoryVectorIndex, VectorIndex
from agentic.core.agents.memory import vectors
from agentic.core.testing import VectorIndexContract
from agentic.core.testing.vector_contract import EMBEDDER, cosine

pytestmark = pytest.mark.requirement("ME06")


class TestInMemoryVectorIndex(VectorIndexContract):
    @pytest.fixture(params=["numpy", "python"])
    def index(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> VectorIndex:
        if request.param == "python":
            monkeypatch.setattr(vectors, "_numpy", lambda: None)
        return InMemoryVectorIndex(EMBEDDER)


async def similarity(one: str, other: str) -> float:
    first, second = await HashingEmbedder().embed([one, other])
    return cosine(first, second)


async def test_texts_that_share_words_are_alike() -> None:
    near = await similarity("Which lamp do you sell?", "We sell a lamp of brass.")
    far = await similarity("Which lamp do you sell?", "Parcels arrive within three days.")
    assert near > 0.25
    assert far < 0.1
    assert await similarity("two dogs", "a dog") > await similarity("two dogs", "a puppy")


def test_equal_texts_have_equal_vectors_in_every_process() -> None:
    code = (
        "import asyncio; from agentic.core.agents import HashingEmbedder as H; "
        "print([round(x, 9) for x in asyncio.run(H(16).embed(['Zoë likes 漢字']))[0]])"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    [vector] = asyncio.run(HashingEmbedder(16).embed(["zoë, likes 漢字!"]))
    assert printed.strip() == str([round(number, 9) for number in vector])


@given(st.lists(st.text(), max_size=3), st.integers(1, 50))
async def test_every_text_has_a_vector_of_length_1(texts: list[str], dimension: int) -> None:
    made: Sequence[Sequence[float]] = await HashingEmbedder(dimension).embed(texts)
    assert [len(vector) for vector in made] == [dimension] * len(texts)
    assert [math.hypot(*vector) for vector in made] == pytest.approx([1.0] * len(texts))


def test_a_dimension_of_0_is_refused() -> None:
    with pytest.raises(ValueError, match="a vector cannot have 0 numbers; give a dimension above 0"):
        HashingEmbedder(0)


def test_neither_numpy_nor_qdrant_is_loaded_before_it_is_used() -> None:
    code = (
        "import asyncio, sys; from agentic.core.agents import *; "
        "index = InMemoryVectorIndex(HashingEmbedder()); "
        "asyncio.run(index.search([1.0] * 384, agent='a', user_ids=['b'], limit=1)); "
        "sys.exit(' '.join({'numpy', 'qdrant_client'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).stderr == b"\n"
