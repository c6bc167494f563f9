"""The contract of every cache of answers."""

from __future__ import annotations

import asyncio
import os
import zlib
from dataclasses import replace

import pytest

from agentic.core.http import CachedAnswer, HttpCache

KEY = "0123456789abcdef0123456789abcdef"


def answer(body: bytes = b"<p>hello", **changes: object) -> CachedAnswer:
    """Return an answer as a fetch keeps it."""
    made = CachedAnswer(
        url="https://shop.example/a?b=c",
        headers=(("etag", '"x"'), ("content-type", "text/html; charset=utf-8")),
        packed=zlib.compress(body),
        kept_at=1_700_000_000.25,
    )
    return replace(made, **changes)  # type: ignore[arg-type] # fields by name


@pytest.mark.asyncio
class HttpCacheContract:
    """Inherit from this and provide a fixture ``cache``, new and empty for each test::

    class TestMyCache(HttpCacheContract):
        @pytest.fixture
        async def cache(self) -> AsyncIterator[HttpCache]:
            async with MyCache(url) as cache:
                yield cache
    """

    async def test_what_is_kept_comes_back_as_it_was(self, cache: HttpCache) -> None:
        await cache.keep(KEY, answer())
        assert await cache.load(KEY) == answer()

    async def test_what_was_never_kept_is_none(self, cache: HttpCache) -> None:
        await cache.keep(KEY, answer())
        assert await cache.load(KEY[::-1]) is None

    async def test_a_later_answer_takes_the_place_of_an_earlier_one(self, cache: HttpCache) -> None:
        later = answer(b"other", headers=(("etag", '"y"'),), kept_at=1_700_000_100.0)
        await cache.keep(KEY, answer())
        await cache.keep(KEY, later)
        assert await cache.load(KEY) == later

    async def test_bodies_of_any_bytes_and_a_few_megabytes_are_kept_whole(self, cache: HttpCache) -> None:
        body = bytes(range(256)) + os.urandom(3 * 1024 * 1024)
        await cache.keep(KEY, answer(body, url="https://h/\u00e9\u6f22"))
        found = await cache.load(KEY)
        assert found is not None
        assert (zlib.decompress(found.packed), found.url) == (body, "https://h/\u00e9\u6f22")

    async def test_an_answer_without_a_body_can_be_kept(self, cache: HttpCache) -> None:
        await cache.keep(KEY, answer(b"", headers=()))
        assert await cache.load(KEY) == answer(b"", headers=())

    async def test_many_are_kept_at_once_and_apart(self, cache: HttpCache) -> None:
        keys = [f"{number:032x}" for number in range(50)]
        await asyncio.gather(*(cache.keep(key, answer(key.encode())) for key in keys))
        found = await asyncio.gather(*(cache.load(key) for key in keys))
        assert found == [answer(key.encode()) for key in keys]

    async def test_of_answers_kept_at_once_under_one_key_one_stands(self, cache: HttpCache) -> None:
        answers = [answer(str(number).encode()) for number in range(8)]
        await asyncio.gather(*(cache.keep(KEY, one) for one in answers))
        assert await cache.load(KEY) in answers
