"""A server that shows who it is, and asks who comes."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agentic.core.bus import BusAccessError, BusUnavailableError, open_bus
from agentic.core.bus.nats.access import NatsAccess
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.settings import load_settings

if TYPE_CHECKING:
    from tests.integration.core.bus.conftest import StartServer

pytestmark = pytest.mark.integration

CONFIG = """
jetstream {{}}
tls {{
  cert_file: {home}/server.pem
  key_file: {home}/server.key
  ca_file: {home}/ca.pem
  verify: true
}}
"""


@pytest.fixture
async def url(start_server: StartServer, tmp_path: Path) -> str:
    """URL of a server with a certificate, which asks for one of ``ca.pem``."""
    authority = _certificate(tmp_path, "ca", None)
    for name in ("server", "client"):
        _certificate(tmp_path, name, authority)
    return await start_server(CONFIG.format(home=tmp_path))


@pytest.fixture
async def hanging_up(tmp_path: Path) -> AsyncIterator[str]:
    """URL of a server that ends each connection after the handshake, and has no time to say why."""
    _certificate(tmp_path, "server", _certificate(tmp_path, "ca", None))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.12.0","max_payload":1024,"tls_required":true}\r\n')
        with contextlib.suppress(OSError):
            await writer.start_tls(context)
        writer.transport.abort()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        yield f"tls://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_who_shows_a_certificate_and_knows_the_servers_gets_in(url: str, tmp_path: Path) -> None:
    settings = load_settings(
        nats_url=url,
        nats_ca_file=str(tmp_path / "ca.pem"),
        nats_cert_file=str(tmp_path / "client.pem"),
        nats_key_file=str(tmp_path / "client.key"),
    )
    async with open_bus(settings) as bus:
        assert (await bus.state()).count == 0


@pytest.mark.parametrize(
    ("known", "reason"),
    [([], "certificate verify failed"), (["ca_file"], "certificate: set AGENTIC_NATS_CERT_FILE")],
)
async def test_who_knows_it_not_or_shows_nothing_does_not(
    url: str, tmp_path: Path, known: list[str], reason: str
) -> None:
    access = NatsAccess(ca_file=tmp_path / "ca.pem" if known else None)
    bus = NatsBus(url.replace("nats://", "tls://"), access)
    with pytest.raises(BusUnavailableError, match=f"(?i){reason}"):
        await bus.state()
    await bus.aclose()


async def test_a_server_that_hangs_up_after_the_handshake_may_want_a_certificate(
    hanging_up: str, tmp_path: Path
) -> None:
    bus = NatsBus(hanging_up, NatsAccess(ca_file=tmp_path / "ca.pem"))
    with pytest.raises(BusUnavailableError, match="set AGENTIC_NATS_CERT_FILE"):
        await bus.state()
    await bus.aclose()


def test_a_certificate_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(BusAccessError, match=r"gone\.pem cannot be used \(No such file"):
        NatsAccess(ca_file=tmp_path / "gone.pem").options()


Authority = tuple[x509.Name, ec.EllipticCurvePrivateKey]


def _certificate(folder: Path, name: str, authority: Authority | None) -> Authority:
    """Write ``NAME.pem`` and ``NAME.key``, signed by an authority or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer, signer = authority or (subject, key)
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(signer, hashes.SHA256())
    )
    (folder / f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / f"{name}.key").write_bytes(text)
    return subject, key
