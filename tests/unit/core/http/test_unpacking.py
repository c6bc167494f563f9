"""Packed bytes, whole, broken and hostile. What is counted here is work, not time."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.http.errors import FetchError
from agentic.core.http.transports.bodies import BodyReader
from agentic.core.http.transports.unpacking import FREE_MEMBERS, MEMBER_BYTES, TooManyMembersError, Unpacker

EMPTY = gzip.compress(b"")
KIB = 1024


def unpacked(data: bytes, cut: int = 65_536) -> bytes:
    unpacker = Unpacker("gzip")
    pieces = [data[at : at + cut] for at in range(0, len(data), cut)]
    return b"".join(out for piece in pieces for out in unpacker.feed(piece))


def read(
    body: bytes, *, max_bytes: int = 10_000_000, encoding: str = "gzip", cut: int = 65_536
) -> BodyReader:
    reader = BodyReader("http://h/", 200, encoding, max_bytes)
    for at in range(0, len(body), cut):
        reader.feed(body[at : at + cut])
    return reader


def failure(body: bytes, **how: int) -> str:
    with pytest.raises(FetchError) as caught:
        read(body, **how)  # type: ignore[arg-type] # numbers
    return caught.value.failure_class


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=20), st.integers(1, 400))
def test_members_are_joined_however_they_are_cut(members: list[bytes], cut: int) -> None:
    assert unpacked(b"".join(map(gzip.compress, members)), cut) == b"".join(members)


@given(st.binary(max_size=300), st.integers(1, 400))
def test_whatever_comes_is_unpacked_or_refused(data: bytes, cut: int) -> None:
    try:
        unpacked(b"\x1f\x8b\x08" + data, cut)
    except (zlib.error, TooManyMembersError):
        return


def test_a_file_of_many_full_members_is_read() -> None:
    block = b"x" * MEMBER_BYTES
    assert unpacked(gzip.compress(block) * 5 * FREE_MEMBERS) == block * 5 * FREE_MEMBERS


def test_members_with_next_to_nothing_in_them_are_refused_beyond_a_number() -> None:
    tiny = gzip.compress(b"x" * (MEMBER_BYTES // 2))
    assert len(unpacked(tiny * FREE_MEMBERS)) == FREE_MEMBERS * MEMBER_BYTES // 2
    for member in (EMPTY, tiny):
        with pytest.raises(TooManyMembersError):
            unpacked(member * (3 * FREE_MEMBERS))


def test_a_member_costs_no_copy_of_all_that_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What zlib copies for each member is what it was given and did not use."""
    copied = 0

    class Counting:
        def __init__(self, wbits: int) -> None:
            self._inner = original(wbits)

        def decompress(self, data: bytes, limit: int) -> bytes:
            nonlocal copied
            piece = self._inner.decompress(data, limit)
            copied += len(self._inner.unused_data) + len(self._inner.unconsumed_tail)
            return piece

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

    original = zlib.decompressobj
    monkeypatch.setattr(zlib, "decompressobj", Counting)
    unpacked(gzip.compress(b"x" * MEMBER_BYTES) * 20_000, cut=10_000_000)
    assert copied < 200 * MEMBER_BYTES * KIB


def test_empty_members_are_too_large_by_what_came_packed() -> None:
    assert failure(EMPTY * 500_000, max_bytes=1_024) == "too_large"


def test_empty_members_within_the_limit_are_refused_by_their_number() -> None:
    assert failure(EMPTY * 100_000) == "decode"


def test_what_follows_the_last_member_counts_as_well() -> None:
    reader = read(gzip.compress(b"hello") + b"-" * 1_000, max_bytes=100)
    assert reader.whole() == b"hello"
    assert failure(gzip.compress(b"hello") + b"-" * 100_000, max_bytes=100) == "too_large"


def test_empty_blocks_without_end_count_as_well() -> None:
    blocks = b"\x00\x00\x00\xff\xff" * 100_000  # each holds nothing
    assert failure(EMPTY[:10] + blocks, max_bytes=1_000) == "too_large"


@pytest.mark.parametrize("size", [0, 1, 1_000, 1_000_000])
def test_a_body_that_cannot_be_packed_is_read_up_to_the_limit(size: int) -> None:
    body = bytes((at * 7919 >> 3) & 255 for at in range(size))
    packed = gzip.compress(body, compresslevel=0)
    assert read(packed, max_bytes=size).whole() == body


def test_no_body_at_all_has_every_encoding() -> None:
    assert read(b"", encoding="br").whole() == b""
    reader = BodyReader("http://h/", 304, "br", 10)
    reader.feed(b"")
    assert reader.whole() == b""


@pytest.mark.parametrize("encoding", ["gzip,br", "br", "zstd", "compress", "BR", "br;q=1"])
def test_an_encoding_nobody_asked_for_is_a_fault_that_names_it(encoding: str) -> None:
    with pytest.raises(FetchError, match="accepts only gzip, deflate") as caught:
        read(b"\x0b\x02\x80hello", encoding=encoding).whole()
    assert caught.value.failure_class == "decode"


@pytest.mark.parametrize(
    "encoding", ["gzip", "deflate", "br", "gzip, br", "none", "utf-8", "7bit", "aws-chunked"]
)
@pytest.mark.parametrize("body", [b"<p>hi</p>", b'{"a": 1}', "\ufeff<p>é</p>".encode(), b"hello " * 20])
def test_a_text_that_is_not_packed_stays_as_it_is(encoding: str, body: bytes) -> None:
    assert read(body, encoding=encoding).whole() == body


@given(st.lists(st.integers(1, 40), max_size=30))
def test_the_pieces_in_which_a_body_comes_do_not_matter(sizes: list[int]) -> None:
    packed = gzip.compress(gzip.compress(b"hello " * 50))
    reader = BodyReader("http://h/", 200, "gzip, gzip", 1_000)
    at = 0
    for size in sizes:
        reader.feed(packed[at : at + size])
        at += size
    reader.feed(packed[at:])
    assert reader.whole() == b"hello " * 50


@pytest.mark.parametrize("status", [302, 404, 410, 500])
@pytest.mark.parametrize(
    "body",
    [gzip.compress(b"gone" * 50)[:-12], gzip.compress(b"gone")[:-6] + bytes(6), b"\x1f\x8b\x08broken" * 9],
)
def test_a_redirect_or_a_failure_needs_no_sound_body(status: int, body: bytes) -> None:
    reader = BodyReader("http://h/", status, "gzip", 1024 * KIB)
    reader.feed(body)
    reader.feed(b"more")
    assert reader.whole()[:4] in (b"gone", b"")


def test_the_body_of_a_redirect_may_end_early() -> None:
    reader = BodyReader("http://h/", 302, "", 1024 * KIB)
    reader.feed(b"<p>moved")
    assert reader.cut_off("the rest of 500 bytes") == b"<p>moved"
