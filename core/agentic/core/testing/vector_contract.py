"""The contract of every index of vectors."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.core.agents.memory.embedding import HashingEmbedder
from agentic.core.agents.memory.records import AgentMemoryError, Memory
from agentic.core.agents.memory.vectors import VectorEntry, VectorIndex

EMBEDDER = HashingEmbedder(4)
"""The embedder of the index to test: its vectors have 4 numbers."""

MANY = 2_500
"""More than two pages of any index that reads in pages."""

PEOPLE = (("host", "ada"), ("host", "bob"), ("host", ""), ("guide", "ada"))
ODD_NAMES = ("a.b", "two words", "*", "Zoë 漢字 🐍", "_", "a/b", "'; DROP TABLE memories; --")

_Vector = tuple[float, ...]
_Kept = dict[tuple[str, str], dict[str, tuple[Memory, _Vector]]]

vectors = st.tuples(*[st.integers(-5, 5).map(float)] * 4).filter(any)
people = st.sampled_from(PEOPLE)
texts = st.sampled_from("abcdef")
changes = st.lists(
    st.one_of(
        st.tuples(st.just("upsert"), people, st.lists(st.tuples(texts, vectors), min_size=1, max_size=4)),
        st.tuples(st.just("delete"), people, st.lists(texts, max_size=2)),
        st.tuples(st.just("clear"), people, st.none()),
    ),
    max_size=8,
)


def entry(text: str, *vector: float, agent: str = "host", user_id: str = "ada") -> VectorEntry:
    """Return an entry of a text."""
    return VectorEntry(agent=agent, user_id=user_id, memory=Memory.of(text, 1.0), vector=vector)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors."""
    return sum(a * b for a, b in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))


class VectorIndexContract:
    """Inherit it, and define the fixture ``index``: an empty index for :data:`EMBEDDER`."""

    @pytest.fixture
    def index(self) -> VectorIndex:
        """Return the index to test."""
        raise NotImplementedError

    def test_it_names_its_embedder(self, index: VectorIndex) -> None:
        assert index.embedder == EMBEDDER.name

    async def test_the_nearest_comes_first(self, index: VectorIndex) -> None:
        await index.upsert(
            [entry("north", 0, 1, 0, 0), entry("east", 7, 0, 0, 0), entry("north-east", 2, 2, 0, 0)]
        )
        found = await index.search((1, 3, 0, 0), agent="host", user_ids=["ada"], limit=9)
        assert [one.memory.content for one in found] == ["north", "north-east", "east"]
        expected = [cosine((1, 3), other) for other in ((0, 1), (1, 1), (1, 0))]
        assert [one.score for one in found] == pytest.approx(expected, abs=1e-5)
        assert {one.user_id for one in found} == {"ada"}

    async def test_limit_and_lowest_score_are_kept(self, index: VectorIndex) -> None:
        await index.upsert(
            [entry("same", 1, 0, 0, 0), entry("other", 0, 1, 0, 0), entry("opposite", -1, 0, 0, 0)]
        )

        async def found(limit: int, min_score: float) -> list[str]:
            matches = await index.search(
                (1, 0, 0, 0), agent="host", user_ids=["ada"], limit=limit, min_score=min_score
            )
            return [one.memory.content for one in matches]

        assert await found(2, -1.0) == ["same", "other"]
        assert await found(9, 0.5) == ["same"]
        assert await found(9, -1.0) == ["same", "other", "opposite"]

    async def test_memories_come_back_as_they_were(self, index: VectorIndex) -> None:
        memory = Memory.of("Zoë 漢字", 1.5, importance=0.25, metadata={"n": [1, {"page": "a.md"}]})
        await index.upsert([VectorEntry(agent="host", user_id="ada", memory=memory, vector=(1, 0, 0, 0))])
        [match] = await index.search((1, 0, 0, 0), agent="host", user_ids=["ada"], limit=1)
        assert match.memory == memory
        assert await index.load("host", "ada") == [memory]

    async def test_a_memory_of_the_same_id_is_replaced(self, index: VectorIndex) -> None:
        await index.upsert([entry("Likes tea", 1, 0, 0, 0)])
        await index.upsert([entry("likes  TEA", 0, 1, 0, 0)])
        [match] = await index.search((0, 1, 0, 0), agent="host", user_ids=["ada"], limit=9)
        assert match.memory.content == "likes  TEA"
        assert match.score == pytest.approx(1.0, abs=1e-5)

    async def test_people_and_agents_are_apart(self, index: VectorIndex) -> None:
        await index.upsert([entry("fact", 1, 0, 0, 0, agent=agent, user_id=user) for agent, user in PEOPLE])
        found = await index.search((1, 0, 0, 0), agent="host", user_ids=["ada", ""], limit=9)
        assert sorted(one.user_id for one in found) == ["", "ada"]
        assert await index.search((1, 0, 0, 0), agent="host", user_ids=["eve"], limit=9) == []
        assert await index.clear("host", "ada") == 1
        assert await index.clear("host", "ada") == 0
        assert [len(await index.load(*person)) for person in PEOPLE] == [0, 1, 1, 1]

    @pytest.mark.parametrize("odd", ODD_NAMES)
    async def test_names_can_be_any_text(self, index: VectorIndex, odd: str) -> None:
        await index.upsert([entry(odd, 1, 0, 0, 0, agent=odd, user_id=odd)])
        assert [one.content for one in await index.load(odd, odd)] == [odd]
        assert await index.load("other", odd) == []
        assert await index.load(odd, "") == []
        assert await index.clear(odd, odd) == 1

    async def test_an_empty_index_finds_nothing(self, index: VectorIndex) -> None:
        await index.upsert([])
        await index.delete("host", "ada", ["unknown"])
        assert await index.search((1, 0, 0, 0), agent="host", user_ids=["ada"], limit=9) == []

    @pytest.mark.parametrize(
        ("vector", "reason"),
        [
            ((1.0, 0.0, 0.0), "a vector has 3 numbers, but vectors of the embedder hashing-1-4 have 4"),
            ((0.0, 0.0, 0.0, 0.0), "has the length 0.0"),
            ((1.0, math.nan, 0.0, 0.0), "has the length nan"),
            ((math.inf, 0.0, 0.0, 0.0), "has the length inf"),
        ],
    )
    async def test_a_vector_without_direction_is_refused(
        self, index: VectorIndex, vector: tuple[float, ...], reason: str
    ) -> None:
        with pytest.raises(AgentMemoryError, match=reason):
            await index.upsert([entry("good", 1, 0, 0, 0), entry("bad", *vector)])
        with pytest.raises(AgentMemoryError, match=reason):
            await index.search(vector, agent="host", user_ids=["ada"], limit=9)
        assert await index.load("host", "ada") == []

    async def test_many_vectors_are_searched(self, index: VectorIndex) -> None:
        drawn = random.Random(7)  # noqa: S311 - the same vectors in each run
        many = [entry(f"fact {number}", *(drawn.gauss(0, 1) for _ in range(4))) for number in range(MANY)]
        await index.upsert(many)
        for one in drawn.sample(many, 5):
            [nearest, *others] = await index.search(one.vector, agent="host", user_ids=["ada"], limit=10)
            best = sorted((cosine(one.vector, other.vector) for other in many), reverse=True)[:10]
            assert [nearest.score, *(other.score for other in others)] == pytest.approx(best, abs=1e-5)
        gone = [one.memory.id for one in many[10:]]
        await index.delete("host", "ada", gone)
        assert {one.content for one in await index.load("host", "ada")} == {
            f"fact {number}" for number in range(10)
        }
        await index.clear("host", "ada")

    async def test_it_agrees_with_a_comparison_with_all(self, index: VectorIndex) -> None:
        loop = asyncio.get_running_loop()

        # On the running loop, where the index is: hypothesis waits for it in a thread.
        @settings(max_examples=40, deadline=None, database=None)
        @given(changes, vectors, st.lists(people, min_size=1, max_size=3), st.integers(1, 6))
        def check(
            drawn: list[tuple[str, tuple[str, str], object]],
            wanted: _Vector,
            asked: list[tuple[str, str]],
            limit: int,
        ) -> None:
            work = _check(index, drawn, wanted, asked, limit)
            asyncio.run_coroutine_threadsafe(work, loop).result(60)

        await asyncio.to_thread(check)


async def _check(
    index: VectorIndex,
    drawn: list[tuple[str, tuple[str, str], object]],
    wanted: _Vector,
    asked: list[tuple[str, str]],
    limit: int,
) -> None:
    for person in PEOPLE:
        await index.clear(*person)
    kept: _Kept = {person: {} for person in PEOPLE}
    for kind, person, what in drawn:
        await _change(index, kept, kind, person, what)
    for person in PEOPLE:
        loaded = {one.id: one for one in await index.load(*person)}
        assert loaded == {memory.id: memory for memory, _ in kept[person].values()}
    agent = asked[0][0]
    users = list(dict.fromkeys(user for _, user in asked))
    found = await index.search(wanted, agent=agent, user_ids=users, limit=limit)
    here = [pair for user in users for pair in kept.get((agent, user), {}).values()]
    best = sorted((cosine(wanted, vector) for _, vector in here), reverse=True)[:limit]
    assert [one.score for one in found] == pytest.approx(best, abs=1e-5)
    for one in found:
        memory, vector = kept[agent, one.user_id][one.memory.id]
        assert one.memory == memory
        assert one.score == pytest.approx(cosine(wanted, vector), abs=1e-5)


async def _change(index: VectorIndex, kept: _Kept, kind: str, person: tuple[str, str], what: object) -> None:
    agent, user = person
    match kind, what:
        case "upsert", list(pairs):
            entries = [entry(text, *vector, agent=agent, user_id=user) for text, vector in pairs]
            await index.upsert(entries)
            kept[person].update({one.memory.id: (one.memory, tuple(one.vector)) for one in entries})
        case "delete", list(words):
            ids = [Memory.of(text, 1.0).id for text in words]
            await index.delete(agent, user, ids)
            for one in ids:
                kept[person].pop(one, None)
        case _:
            assert await index.clear(agent, user) == len(kept[person])
            kept[person].clear()
