"""Servers that mean harm: each ends in a failure with a class, in little memory and little time."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import sys
import zlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agentic.core.http import Fetcher, FetchError, HttpPolicy, HttpRequest, ProcessBudget, open_fetcher
from agentic.core.testing.http_peer import Responder, dribble, endless, listening, page

pytestmark = pytest.mark.integration

MIB = 1024 * 1024
ROOM_MIB = 24


@cache
def bomb(encoding: str) -> bytes:
    """Return a page that is small until it is unpacked: made when it is needed, which takes a second."""
    if encoding == "deflate":
        return page(zlib.compress(bytes(50 * MIB)), "Content-Encoding: deflate")
    packed = gzip.compress(bytes(200 * MIB), compresslevel=1)
    is_double = encoding == "gzip, gzip"
    return page(gzip.compress(packed) if is_double else packed, f"Content-Encoding: {encoding}")


@pytest.fixture(params=["aiohttp", "httpx2", "curl_cffi"])
async def fetcher(request: pytest.FixtureRequest) -> AsyncIterator[Fetcher]:
    policy = HttpPolicy(
        allow_private_hosts=("127.0.0.1", "localhost"),
        obey_robots=False,
        max_bytes=MIB // 4,
        max_redirects=5,
        timeout_s=5,
        transport=request.param,
    )
    async with open_fetcher(policy, budget=ProcessBudget()) as opened:
        yield opened


@pytest.fixture
def certificate(tmp_path: Path) -> ssl.SSLContext:
    """A certificate that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    file = tmp_path / "server.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def memory_mib(name: str) -> float:
    """Return ``VmRSS``, or ``VmHWM``, the most it was since :func:`forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def forget_peak() -> float:
    """Begin to watch the memory anew; return what is in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory_mib("VmRSS")


async def failure(fetcher: Fetcher, answer: bytes | Responder) -> str:
    async with listening(answer) as peer:
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(peer.url)
    return caught.value.failure_class


GREEDY = {
    "a page of 50 MiB": (endless(b"HTTP/1.1 200 OK\r\n\r\n<html>", b"<div><p>" * 8_192), "too_large"),
    "a gzip bomb": (partial(bomb, "gzip"), "too_large"),
    "a deflate bomb": (partial(bomb, "deflate"), "too_large"),
    "a bomb inside a bomb": (partial(bomb, "gzip, gzip"), "too_large"),
    "a brotli bomb": (page(b"\x5b\xff\xff" + bytes(100_000), "Content-Encoding: br"), "decode"),
    "a header flood": (endless(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 4_000 + b"\r\n"), "decode"),
    "one endless header": (endless(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 65_536), "decode"),
    "tiny chunks": (
        endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"40\r\n" + b"x" * 64 + b"\r\n"),
        "too_large",
    ),
    "a chunk of 2^60 bytes": (
        endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n", b"x" * 65_536),
        "too_large",
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
@pytest.mark.parametrize(("answer", "expected"), GREEDY.values(), ids=GREEDY.keys())
async def test_what_is_sent_without_end_fills_no_memory(
    fetcher: Fetcher, answer: bytes | Responder | partial[bytes], expected: str
) -> None:
    if isinstance(answer, partial):
        answer = answer()
    await failure(fetcher, page(b"hello")[:-1])  # what is loaded at the first use is not counted
    before = forget_peak()
    assert await failure(fetcher, answer) == expected
    assert memory_mib("VmHWM") - before < ROOM_MIB


async def test_a_server_of_one_byte_at_a_time_is_left_after_the_time_limit(fetcher: Fetcher) -> None:
    fetcher.policy = fetcher.policy.model_copy(update={"timeout_s": 0.3})
    assert await failure(fetcher, dribble) == "timeout"
    assert await failure(fetcher, endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", pause_s=0.05)) == "timeout"


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nX: y\r\n", b""])
async def test_an_answer_that_ends_within_its_head_is_no_page(fetcher: Fetcher, head: bytes) -> None:
    async with listening(head) as peer:
        with pytest.raises(FetchError, match="ended before the end of the answer") as caught:
            await fetcher.fetch(peer.url)
    assert caught.value.failure_class == "connect"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 404 Gone\r\nContent-Length: 500\r\n\r\n<p>", "http_404"),
        (b"HTTP/1.1 404 Gone\r\nContent-Encoding: gzip\r\n\r\n" + b"\x1f\x8b\x08 broken" * 9, "http_404"),
        (b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 500\r\n\r\n<p>", "too_many_redirects"),
    ],
)
async def test_the_status_counts_also_if_the_body_cannot_be_read(
    fetcher: Fetcher, answer: bytes, expected: str
) -> None:
    assert await failure(fetcher, answer) == expected


async def test_a_body_in_the_answer_to_head_is_ignored(fetcher: Fetcher) -> None:
    async with listening(page(b"hello")) as peer:
        answer = await fetcher.fetch(HttpRequest(url=peer.url, method="HEAD"))
    assert (answer.status, answer.body) == (200, b"")


async def test_interim_answers_without_number_are_skipped(fetcher: Fetcher) -> None:
    async with listening(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 3_000 + page(b"hello")) as peer:
        assert (await fetcher.fetch(peer.url)).body == b"hello"


async def test_a_redirect_in_a_circle_ends(fetcher: Fetcher) -> None:
    assert await failure(fetcher, b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n") == "too_many_redirects"


async def test_redirects_that_dribble_share_one_time_limit(fetcher: Fetcher) -> None:
    async def lead_on(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")

    fetcher.policy = fetcher.policy.model_copy(update={"timeout_s": 0.5, "max_redirects": 100})
    assert await failure(fetcher, lead_on) == "timeout"


@pytest.mark.parametrize(
    "target",
    ["http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "//[::1]/", "http://0x7f000002/"],
)
async def test_a_redirect_into_the_own_network_is_not_followed(fetcher: Fetcher, target: str) -> None:
    answer = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\n\r\n".encode()
    assert await failure(fetcher, answer) == "private_address"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://h/", "javascript:alert(1)", "http://[::1"])
async def test_a_redirect_to_something_else_is_not_followed(fetcher: Fetcher, target: str) -> None:
    answer = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\n\r\n".encode()
    assert await failure(fetcher, answer) == "invalid_url"


async def test_a_certificate_nobody_vouches_for_is_a_tls_failure(
    fetcher: Fetcher, certificate: ssl.SSLContext
) -> None:
    asked_for: list[str | None] = []
    certificate.sni_callback = lambda _, name, __: asked_for.append(name)
    async with listening(page(b"hello"), certificate) as peer:
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(f"https://localhost:{peer.port}/")
    assert caught.value.failure_class == "tls"
    assert set(asked_for) == {"localhost"}  # the name, though an address was connected to
    assert peer.requests == []


@pytest.mark.parametrize(
    ("label", "body", "text"),
    [
        ("utf-8", b"caf\xe9", "café"),
        ("no-such-charset", "café".encode(), "café"),
        ("utf-16", "café".encode(), None),
        ("x" * 5_000, "café".encode(), "café"),
        ("ascii", "café".encode("cp1252"), "café"),
        ("idna", "café".encode(), None),
        ("base64", b"aGVsbG8=", None),
        ("\x00", b"hello", "hello"),
    ],
    ids=["wrong", "unknown", "utf-16 that is none", "long", "ascii", "idna", "no charset", "null byte"],
)
async def test_a_wrong_charset_does_no_harm(
    fetcher: Fetcher, label: str, body: bytes, text: str | None
) -> None:
    async with listening(page(body, f"Content-Type: text/html; charset={label}")) as peer:
        try:
            response = await fetcher.fetch(peer.url)
        except FetchError as exc:
            assert exc.failure_class == "decode"  # noqa: PT017 - some libraries refuse the header itself
            return
    assert isinstance(response.text, str)
    assert text is None or response.text == text


async def test_cookies_that_are_none_do_no_harm(fetcher: Fetcher) -> None:
    lines = ["Set-Cookie: =", "Set-Cookie: a", "Set-Cookie: a=\xff; Max-Age=x", "Set-Cookie: " + ";" * 3_000]
    async with listening(page(b"", *lines)) as peer:
        assert (await fetcher.fetch(peer.url)).status == 200


async def test_a_host_that_asks_for_a_century_of_peace_gets_a_day(fetcher: Fetcher) -> None:
    async with listening(b"HTTP/1.1 429 No\r\nRetry-After: 99999999999\r\nContent-Length: 0\r\n\r\n") as peer:
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(peer.url)
    assert caught.value.retry_after_s == 86_400
