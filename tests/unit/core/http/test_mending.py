"""Heads of answers as servers send them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from agentic.core.http.transports.mending import MAX_HEAD_BYTES, AnswerMender, mended_head

STATUS = b"HTTP/1.1 200 OK\r\n"
SOUND = STATUS + b"A: b\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        SOUND,
        b"HTTP/1.0 404 Not Found\r\n\r\n",
        b"HTTP/1.1 200\r\nA:b\r\n\r\n",
        STATUS + b"A:\r\nB: \xe9\x80\r\nContent-Length: 5\r\n\r\n",
        STATUS + b"Transfer-Encoding: chunked\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\nA b\r\n\r\n",
        STATUS + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        STATUS + b"Content-Length: 5, 6\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_a_sound_or_ambiguous_head_stays_as_it_is(head: bytes) -> None:
    assert mended_head(head) == head


@pytest.mark.parametrize(
    ("head", "mended"),
    [
        (b"\r\n\r\n" + SOUND, SOUND),
        (SOUND.replace(b"\r\n", b"\n"), SOUND),
        (b"http/1.1 200 OK\r\nA: b\r\n\r\n", SOUND),
        (b"HTTP/1.1  200  OK\r\nA: b\r\n\r\n", SOUND),
        (b"HTTP/1 200 OK\r\nA: b\r\n\r\n", SOUND),
        (b"HTTP/1.2 200 OK\r\nA: b\r\n\r\n", SOUND),
        (b"HTTP/2 200 OK\r\nA: b\r\n\r\n", SOUND),
        (b"ICY 200 OK\r\nA: b\r\n\r\n", SOUND),
        (STATUS + b"no colon\r\nA: b\r\n\r\n", SOUND),
        (STATUS + b"A : b\r\n\r\n", SOUND),
        (STATUS + b": b\r\nA: b\r\n\r\n", SOUND),
        (STATUS + b"X Y: b\r\nA: b\r\n\r\n", SOUND),
        (STATUS + b"X(Y): b\r\nA: b\r\n\r\n", SOUND),
        (STATUS + b"X\xe9: b\r\nA: b\r\n\r\n", SOUND),
        (STATUS + b" fold of nothing\r\nA: b\r\n\r\n", SOUND),
        (STATUS + b"A: b\r\n\tc\r\n  d\r\n\r\n", STATUS + b"A: b c d\r\n\r\n"),
        (STATUS + b"A: b\0c\rd\r\n\r\n", STATUS + b"A: b c d\r\n\r\n"),
        (STATUS + b"Content-Length: 5\r\ncontent-length: 5\r\n\r\n", STATUS + b"Content-Length: 5\r\n\r\n"),
        (STATUS + b"Content-Length: 5, 5\r\n\r\n", STATUS + b"Content-Length: 5\r\n\r\n"),
        (STATUS + b"Content-Length: \r\nA: b\r\n\r\n", SOUND),
        (STATUS + b"Content-Length: -1\r\nA: b\r\n\r\n", SOUND),
        (STATUS + b"Content-Length: abc\r\nA: b\r\n\r\n", SOUND),
        (STATUS + b"Content-Length: 5 bytes\r\nA: b\r\n\r\n", SOUND),
        (STATUS + b"Transfer-Encoding: identity\r\nA: b\r\n\r\n", SOUND),
        (
            STATUS + b"Content-Length: 9\r\nTransfer-Encoding: Chunked\r\n\r\n",
            STATUS + b"Transfer-Encoding: chunked\r\n\r\n",
        ),
        (
            STATUS + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            STATUS + b"Transfer-Encoding: chunked\r\n\r\n",
        ),
    ],
)
def test_a_head_that_browsers_accept_is_mended(head: bytes, mended: bytes) -> None:
    assert mended_head(head) == mended
    assert mended_head(mended) == mended


@given(st.data())
def test_an_answer_is_the_same_in_any_pieces(data: st.DataObject) -> None:
    answer = (
        b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + STATUS + b"Content-Length: 5\r\nodd\r\n\r\nhello!!!"
    )
    cuts = sorted(data.draw(st.sets(st.integers(0, len(answer)))))
    mender = AnswerMender()
    pieces = [answer[a:b] for a, b in zip([0, *cuts], [*cuts, len(answer)], strict=True)]
    expected = b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + STATUS + b"Content-Length: 5\r\n\r\nhello"
    assert b"".join(map(mender.feed, pieces)) + mender.flush() == expected


@given(st.lists(st.binary(max_size=30)))
def test_other_protocols_are_passed_through(pieces: list[bytes]) -> None:
    mender = AnswerMender()
    passed = b"".join(map(mender.feed, pieces)) + mender.flush()
    whole = b"".join(pieces)
    assert passed == whole or whole.lstrip(b"\r\n")[:1].lower() in (b"h", b"i")


def test_a_head_without_an_end_is_not_kept() -> None:
    mender = AnswerMender()
    passed = sum(len(mender.feed(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1_000)) for _ in range(100))
    assert passed > MAX_HEAD_BYTES


def test_what_follows_the_declared_length_is_ignored_with_one_warning() -> None:
    mender = AnswerMender("http://me:pw@h/a?key=1")
    with capture_logs() as logs:
        found = (
            mender.feed(STATUS + b"Content-Length: 5\r\n\r\nhel")
            + mender.feed(b"lo wor")
            + mender.feed(b"ld")
        )
    assert found.endswith(b"\r\n\r\nhello")
    assert mender.has_excess
    told = [(entry["event"], entry["log_level"], entry["url"], entry["ignored_bytes"]) for entry in logs]
    assert told == [("answer.too_long", "warning", "http://h/a", 4)]


@pytest.mark.parametrize(
    ("end", "rest"), [(b"0\r\n", b"\r\n"), (b"0\r\n\r\n", b""), (b"5\r\nhel", b""), (b"10\r\n", b"")]
)
def test_the_line_after_the_last_chunk_may_be_missing(end: bytes, rest: bytes) -> None:
    mender = AnswerMender()
    mender.feed(STATUS + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
    for byte in end:
        mender.feed(bytes([byte]))
    assert mender.flush() == rest


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
@pytest.mark.parametrize("length", [b"", b"Content-Length: 5\r\n"])
def test_an_answer_that_has_no_body_ends_with_its_head(status: bytes, length: bytes) -> None:
    mender = AnswerMender()
    head = b"HTTP/1.1 " + status + b"\r\n" + length + b"\r\n"
    assert mender.feed(head + b"hello") == head
    assert mender.has_excess


@pytest.mark.parametrize(
    "coding", [b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"no colon\r\n"]
)
def test_the_answer_to_head_ends_with_its_head(coding: bytes) -> None:
    head = STATUS + coding + b"\r\n"
    assert AnswerMender(has_body=False).feed(head + b"5\r\nhello") in (head, STATUS + b"\r\n")


def test_interim_answers_without_end_are_left_to_the_parser() -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    assert AnswerMender().feed(interim * 5_000 + SOUND) == interim * 5_000 + SOUND
    assert AnswerMender().feed(interim * 3 + SOUND.replace(b"\r\n", b"\n")) == interim * 3 + SOUND
