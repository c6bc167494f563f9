"""The contract of every transport, against sockets with valid, invalid, slow or no answers."""

from __future__ import annotations

import asyncio
import gzip
import re
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest
from structlog.testing import capture_logs

from agentic.core.http import FetchError, HttpPolicy, HttpRequest, HttpResponse, Transport
from agentic.core.testing.http_peer import Responder, dribble, endless, listening, page, reset, stay_silent

OpenTransport = Callable[[HttpPolicy], AbstractAsyncContextManager[Transport]]

PROXY_VARIABLES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
PRIVATE_HOSTS = (
    "127.0.0.1",
    "localhost",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0x7f000001",
    "0",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "１２７.０.０.１",
    "%31%32%37.0.0.1",
    "0x7f000001.",
    "127.0.0.1.",
    "ⓛocalhost",
    "[64:ff9b:1::7f00:1]",
    "[::127.0.0.1]",
)
PAGE = b"<!doctype html><html><body>" + b"<p>hello</p>" * 9 + b"</body></html>"
PACKED = gzip.compress(PAGE)
CHUNKED = b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
HTML = "Content-Type: text/html"
# Answers that browsers show. All of them hold PAGE.
ACCEPTED = {
    "encoding none": page(PAGE, "Content-Encoding: none"),
    "encoding utf-8": page(PAGE, "Content-Encoding: utf-8"),
    "encoding identity": page(PAGE, "Content-Encoding: identity"),
    "encoding chunked": page(PAGE, "Content-Encoding: chunked"),
    "empty encoding": page(PAGE, "Content-Encoding:"),
    "gzip in capitals": page(PACKED, "Content-Encoding: GZIP"),
    "gzip and utf-8": page(PACKED, "Content-Encoding: gzip, utf-8"),
    "gzip, but plain": page(PAGE, "Content-Encoding: gzip"),
    "deflate, but plain": page(PAGE, "Content-Encoding: deflate"),
    "brotli, but plain": page(PAGE, "Content-Encoding: br"),
    "brotli that is gzip": page(PACKED, "Content-Encoding: br"),
    "deflate that is gzip": page(PACKED, "Content-Encoding: deflate"),
    "gzip that is deflate": page(zlib.compress(PAGE), "Content-Encoding: gzip"),
    "utf-8 that is gzip": page(PACKED, HTML, "Content-Encoding: utf-8"),
    "gzip without a word": page(PACKED, HTML),
    "gzip twice": page(gzip.compress(PACKED), "Content-Encoding: gzip, gzip"),
    "gzip twice in two fields": page(
        gzip.compress(PACKED), "Content-Encoding: gzip", "Content-Encoding: gzip"
    ),
    "gzip twice, named once": page(gzip.compress(PACKED), HTML, "Content-Encoding: gzip"),
    "gzip once, named twice": page(PACKED, "Content-Encoding: gzip, gzip"),
    "gzip and more": page(PACKED + b"\0\0junk", "Content-Encoding: gzip"),
    "gzip without its end": page(PACKED[:-6], "Content-Encoding: gzip"),
    "a length that is too small for what follows": page(PAGE) + b"more",
    "a length that is too large, and the end of the page": b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"
    + PAGE,
    "the same length twice": page(PAGE, f"Content-Length: {len(PAGE)}"),
    "no last chunk, but the end of the page": CHUNKED + b"%x\r\n%s\r\n" % (len(PAGE), PAGE),
    "spaces after a chunk's size": CHUNKED + b"%x  \r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE),
    "no reason": page(PAGE).replace(b" OK", b"", 1),
    "a reason in latin-1": page(PAGE).replace(b" OK", b" Gr\xfc\xdfe", 1),
    "a value in latin-1": page(PAGE, "X-One: \xe9"),
    "a folded line": page(PAGE, "X-One: a\r\n\tb"),
    "line feeds only": page(PAGE).replace(b"\r\n", b"\n"),
    "a long line": page(PAGE, f"Content-Security-Policy: {'a' * 20_000}"),
    "many lines": page(PAGE, *(f"X-{number}: a" for number in range(300))),
}

BROKEN = {
    "hangs up": (b"", "connect"),
    "cut": (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", "connect"),
    "cut chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "connect"),
    "reset": (reset, "connect"),
    "no gzip": (page(b"\x02hello", "Content-Encoding: gzip"), "decode"),
    "broken gzip": (
        page(gzip.compress(b"hello" * 99)[:9] + b"hello" * 99, "Content-Encoding: gzip"),
        "decode",
    ),
    "two lengths": (page(b"hello", "Content-Length: 3"), "decode"),
    "short": (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n<html><p>hello</p>", "connect"),
    "no last chunk": (CHUNKED + b"5\r\nhello\r\n", "connect"),
    "no chunks": (CHUNKED + b"hello\r\n\r\n", "decode"),
    "half gzip": (page(gzip.compress(b"hello" * 99)[:-9], "Content-Encoding: gzip"), "decode"),
    "brotli nobody asked for": (page(b"\x8b\x02\x80", "Content-Encoding: br"), "decode"),
    "another protocol": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "decode"),
    "http 0.9": (b"<html>hello</html>\r\n\r\n", "decode"),
    "huge header": (b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 500_000 + b"\r\n\r\n", "decode"),
    "endless headers": (endless(b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"a" * 4_000 + b"\r\n"), "decode"),
    "endless body": (endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 10_000), "too_large"),
    "endless chunks": (
        endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"400\r\n" + b"x" * 1024 + b"\r\n"),
        "too_large",
    ),
    "gzip bomb": (page(gzip.compress(bytes(10_000_000)), "Content-Encoding: gzip"), "too_large"),
    "deflate bomb": (page(zlib.compress(bytes(10_000_000)), "Content-Encoding: deflate"), "too_large"),
}


class _Sink:
    """Keeps the pieces of a body, or fails at the first one."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.pieces: list[bytes] = []
        self.content_type = ""
        self._fault = fault

    def begin(self, content_type: str) -> None:
        self.content_type = content_type

    def write(self, data: bytes) -> None:
        if self._fault is not None:
            raise self._fault
        self.pieces.append(data)


@pytest.mark.asyncio
class TransportContract:
    """Inherit from this and provide a fixture ``open_transport``, which opens one for a policy::

    class TestMyTransport(TransportContract):
        @pytest.fixture
        def open_transport(self) -> OpenTransport:
            return MyTransport
    """

    @pytest.fixture
    async def transport(self, open_transport: OpenTransport) -> AsyncIterator[Transport]:
        policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), user_agent="testbot/1.0")
        async with open_transport(policy) as opened:
            yield opened

    async def test_an_answer_comes_whole_with_its_headers(self, transport: Transport) -> None:
        head = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=latin-1\r\nContent-Length: 1\r\n"
        async with listening(head + b"\r\n\xe9") as peer:
            response = await send(transport, f"http://me:secret@127.0.0.1:{peer.port}/a?b=c#d")
        assert (response.status, response.text, response.content_type) == (404, "é", "text/plain")
        assert response.url == f"http://127.0.0.1:{peer.port}/a?b=c"
        assert response.elapsed_s > 0
        assert b"\r\nauthorization: basic bwu6c2vjcmv0\r\n" in peer.requests[0].lower()

    async def test_method_headers_and_body_are_sent_and_what_is_missing_added(
        self, transport: Transport
    ) -> None:
        async with listening(b"HTTP/1.1 204 No Content\r\n\r\n") as peer:
            request = HttpRequest(
                url=f"{peer.url}é?q=ü", method="POST", headers={"X-One": "1", "X-None": ""}, body=b"{}\0"
            )
            response = await transport.send(request, timeout_s=10, max_bytes=10)
        assert (response.status, response.body) == (204, b"")
        head, _, body = peer.requests[0].partition(b"\r\n\r\n")
        line, *fields = head.decode().split("\r\n")
        sent = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        assert (line, body) == ("POST /%C3%A9?q=%C3%BC HTTP/1.1", b"{}\0")
        assert (sent["x-one"], sent["x-none"], sent["user-agent"]) == ("1", "", "testbot/1.0")
        assert sent["host"] == f"127.0.0.1:{peer.port}"
        assert sent["accept-encoding"] == "gzip, deflate"

    @pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "OPTIONS"])
    async def test_other_methods_are_sent_as_they_are(self, transport: Transport, method: str) -> None:
        body = b"x" if method == "PUT" else None
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + (b"" if method == "HEAD" else b"hello")
        async with listening(answer) as peer:
            request = HttpRequest(url=peer.url, method=method, body=body)
            response = await transport.send(request, timeout_s=10, max_bytes=10)
        assert peer.requests[0].startswith(method.encode())
        assert response.body == (b"" if method == "HEAD" else b"hello")

    async def test_a_sink_takes_the_body_of_a_success_piece_by_piece(self, transport: Transport) -> None:
        sink = _Sink()
        answer = page(gzip.compress(b"hello" * 50_000), "Content-Encoding: gzip\r\nContent-Type: image/png")
        async with listening(answer) as peer:
            request = HttpRequest(url=peer.url, sink=sink)
            response = await transport.send(request, timeout_s=10, max_bytes=1_000_000)
        assert (response.status, response.body) == (200, b"")
        assert (b"".join(sink.pieces), sink.content_type) == (b"hello" * 50_000, "image/png")
        assert len(sink.pieces) > 1

    async def test_a_sink_gets_nothing_of_other_answers(self, transport: Transport) -> None:
        sink = _Sink()
        answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"
        async with listening(answer) as peer:
            request = HttpRequest(url=peer.url, sink=sink)
            response = await transport.send(request, timeout_s=10, max_bytes=100)
        assert (response.status, response.body, sink.pieces) == (404, b"gone", [])

    async def test_the_fault_of_a_sink_and_a_body_beyond_the_limit_end_the_transfer(
        self, transport: Transport
    ) -> None:
        async with listening(page(b"x" * 500_000)) as peer:
            full = HttpRequest(url=peer.url, sink=_Sink(fault=RuntimeError("full")))
            with pytest.raises(RuntimeError, match="full"):
                await transport.send(full, timeout_s=10, max_bytes=1_000_000)
        async with listening(page(b"x" * 500_000)) as peer:
            with pytest.raises(FetchError) as caught:
                await transport.send(HttpRequest(url=peer.url, sink=_Sink()), timeout_s=10, max_bytes=100_000)
        assert caught.value.failure_class == "too_large"

    async def test_a_redirect_is_handed_back_and_not_followed(self, transport: Transport) -> None:
        async with listening(b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n") as peer:
            response = await send(transport, f"{peer.url}a")
        assert (response.status, response.headers["Location"]) == (302, "/b")
        assert len(peer.requests) == 1

    async def test_cookies_are_told_one_by_one_and_not_kept(self, transport: Transport) -> None:
        answer = page(
            b"", "Set-Cookie: a=b; Path=/", "Set-Cookie: c=d; Expires=Fri, 01 Jan 2100 00:00:00 GMT"
        )
        async with listening(answer) as peer:
            responses = [await send(transport, peer.url) for _ in range(2)]
        assert responses[0].set_cookies == ("a=b; Path=/", "c=d; Expires=Fri, 01 Jan 2100 00:00:00 GMT")
        assert b"cookie" not in peer.requests[1].lower()

    async def test_a_proxy_of_the_environment_is_not_used(
        self, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in PROXY_VARIABLES:
            monkeypatch.setenv(variable, "http://127.0.0.1:9/")
        async with (
            listening(page(b"hello")) as peer,
            open_transport(HttpPolicy(allow_private_hosts=("127.0.0.1",))) as opened,
        ):
            assert (await send(opened, peer.url)).body == b"hello"

    @pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "raw deflate", "two members"])
    async def test_a_packed_body_is_unpacked(self, transport: Transport, encoding: str) -> None:
        text = b"hello " * 50_000
        raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        packed = {
            "deflate": zlib.compress(text),
            "raw deflate": raw.compress(text) + raw.flush(),
            "two members": gzip.compress(text[:1000]) + gzip.compress(text[1000:]),
        }.get(encoding, gzip.compress(text))
        name = {"raw deflate": "deflate", "two members": "gzip"}.get(encoding, encoding)
        async with listening(page(packed, f"Content-Encoding: {name}")) as peer:
            response = await send(transport, peer.url, max_bytes=len(text))
        assert response.body == text

    async def test_a_body_as_large_as_allowed_is_read_and_one_byte_more_is_not(
        self, transport: Transport
    ) -> None:
        async with listening(page(b"x" * 10_000)) as peer:
            assert len((await send(transport, peer.url, max_bytes=10_000)).body) == 10_000
            with pytest.raises(FetchError, match="larger than 9999 bytes") as caught:
                await send(transport, peer.url, max_bytes=9_999)
        assert (caught.value.failure_class, caught.value.status) == ("too_large", 200)

    @pytest.mark.parametrize("answer", [stay_silent, dribble], ids=["silent", "dribbling"])
    async def test_a_server_that_takes_too_long_is_a_timeout(
        self, transport: Transport, answer: Responder
    ) -> None:
        error = await failure(transport, answer, timeout_s=0.3)
        assert error.failure_class == "timeout"
        assert "within 0.3 s" in str(error)

    @pytest.mark.parametrize(("answer", "expected"), BROKEN.values(), ids=BROKEN.keys())
    async def test_an_answer_that_is_broken_has_its_class(
        self, transport: Transport, answer: bytes | Responder, expected: str
    ) -> None:
        assert (await failure(transport, answer)).failure_class == expected

    @pytest.mark.parametrize("answer", ACCEPTED.values(), ids=ACCEPTED.keys())
    async def test_an_answer_that_browsers_accept_is_read(self, transport: Transport, answer: bytes) -> None:
        async with listening(answer) as peer:
            response = await send(transport, peer.url)
        assert (response.status, response.body) == (200, PAGE)

    async def test_a_file_that_is_packed_stays_packed(self, transport: Transport) -> None:
        async with listening(page(PACKED, "Content-Type: application/gzip")) as peer:
            assert (await send(transport, peer.url)).body == PACKED

    async def test_an_answer_that_ended_early_is_a_warning(self, transport: Transport) -> None:
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + PAGE
        async with listening(answer) as peer:
            with capture_logs() as logs:
                await send(transport, f"{peer.url}?secret=1")
        told = [(entry["event"], entry["lack"], entry["url"]) for entry in logs]
        assert told == [("answer.short", "the rest of 900 bytes (Content-Length)", peer.url)]

    async def test_the_error_names_the_field_and_the_library(self, transport: Transport) -> None:
        error = await failure(transport, page(b"hello", "Content-Length: 3"))
        assert re.search(r"not valid HTTP \((aiohttp|httpx2|curl): .*Content-Length", str(error))

    async def test_after_a_broken_answer_the_next_one_is_read(self, transport: Transport) -> None:
        answers = iter([page(b"x" * 50_000), page(b"cut")[:-1], page(b"whole")])

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(next(answers))
            await writer.drain()

        async with listening(answer) as peer:
            for _ in range(2):
                with pytest.raises(FetchError):
                    await send(transport, peer.url)
            assert (await send(transport, peer.url)).body == b"whole"

    async def test_a_connection_is_used_again_whatever_the_answer_was(self, transport: Transport) -> None:
        answers = [
            page(b"hello"),
            b"HTTP/1.1 204 No Content\r\n\r\n",
            b"HTTP/1.1 304 Not Modified\r\nETag: a\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            page(b"sent"),
            page(b"end"),
        ]

        async def in_turn(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for answer in answers:
                writer.write(answer)
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"POST"):
                    await reader.readexactly(3)

        async with listening(in_turn) as peer:
            asked = [HttpRequest(url=peer.url, method=method) for method in ("GET", "GET", "GET", "HEAD")]
            asked += [HttpRequest(url=peer.url, method="POST", body=b"abc"), HttpRequest(url=peer.url)]
            found = [await transport.send(one, timeout_s=5, max_bytes=100) for one in asked]
        assert [one.status for one in found] == [200, 204, 304, 200, 200, 200]
        assert [one.body for one in found] == [b"hello", b"", b"", b"", b"sent", b"end"]
        assert len(peer.requests) == 1, "connections"

    async def test_a_cancelled_request_leaves_the_others_alone(self, transport: Transport) -> None:
        async with listening(stay_silent) as silent, listening(page(b"hello")) as peer:
            given_up = asyncio.create_task(send(transport, silent.url))
            while not silent.requests:  # noqa: ASYNC110 - the peer sets no event
                await asyncio.sleep(0.01)
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
            assert (await send(transport, peer.url)).body == b"hello"

    async def test_many_requests_at_once_get_each_its_own_answer(self, transport: Transport) -> None:
        async def echo(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            path = peer.requests[-1].split()[1]  # read just now, with no await between
            await asyncio.sleep(0.01)
            writer.write(page(path))
            await writer.drain()

        async with listening(echo) as peer:
            responses = await asyncio.gather(*(send(transport, f"{peer.url}{n}") for n in range(30)))
        assert [response.body for response in responses] == [b"/%d" % n for n in range(30)]

    async def test_a_server_without_tls_is_a_tls_failure(self, transport: Transport) -> None:
        async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()
            await writer.wait_closed()

        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(FetchError) as caught:
                await send(transport, f"https://127.0.0.1:{port}/")
        assert caught.value.failure_class == "tls"

    async def test_a_port_nobody_listens_on_is_a_connect_failure(self, transport: Transport) -> None:
        async with listening(b"") as peer:
            url = peer.url
        with pytest.raises(FetchError) as caught:
            await send(transport, url)
        assert caught.value.failure_class == "connect"

    async def test_a_name_that_does_not_exist_is_a_dns_failure(self, transport: Transport) -> None:
        with pytest.raises(FetchError, match="check its spelling") as caught:
            await send(transport, "http://no-such-host.invalid/")
        assert caught.value.failure_class == "dns"

    @pytest.mark.parametrize(
        "url",
        ["http://exa mple:99999/", "http://", "ftp://127.0.0.1/", "/a"]
        + [f"http://{host}/" for host in ("a..b", ".a", f"{'a' * 64}.b")],
    )
    async def test_what_is_no_url_is_refused(self, transport: Transport, url: str) -> None:
        with pytest.raises(FetchError) as caught:
            await send(transport, url)
        assert caught.value.failure_class == "invalid_url"

    @pytest.mark.parametrize("host", PRIVATE_HOSTS)
    async def test_no_spelling_of_a_private_address_is_connected_to(
        self, open_transport: OpenTransport, host: str
    ) -> None:
        async with listening(page(b"")) as peer, open_transport(HttpPolicy()) as closed:
            with pytest.raises(FetchError) as caught:
                await send(closed, f"http://{host}:{peer.port}/")
        assert caught.value.failure_class == "private_address"
        assert peer.requests == []

    async def test_many_requests_at_once_to_a_private_name_are_all_refused(
        self, open_transport: OpenTransport
    ) -> None:
        async with open_transport(HttpPolicy()) as closed:
            requests = [send(closed, f"http://localhost/{number}") for number in range(20)]
            errors = await asyncio.gather(*requests, return_exceptions=True)
        assert {getattr(error, "failure_class", "") for error in errors} == {"private_address"}

    @pytest.mark.parametrize("entry", ["localhost", "localhost:{port}"])
    async def test_a_named_host_may_be_private(self, open_transport: OpenTransport, entry: str) -> None:
        async with listening(page(b"")) as peer:
            policy = HttpPolicy(allow_private_hosts=(entry.format(port=peer.port),))
            async with open_transport(policy) as opened:
                assert (await send(opened, f"http://localhost:{peer.port}/")).status == 200


async def send(
    transport: Transport, url: str, *, timeout_s: float = 10, max_bytes: int = 20_000
) -> HttpResponse:
    """Send a GET."""
    return await transport.send(HttpRequest(url=url), timeout_s=timeout_s, max_bytes=max_bytes)


async def failure(transport: Transport, answer: bytes | Responder, *, timeout_s: float = 10) -> FetchError:
    """Return the error of a GET with this answer."""
    async with listening(answer) as peer:
        with pytest.raises(FetchError) as caught:
            await send(transport, peer.url, timeout_s=timeout_s)
        return caught.value
