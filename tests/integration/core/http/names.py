"""A name server on loopback that changes its mind."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import IPv4Address

HEADER = struct.Struct("!HHHHHH")
A = 1


class NameServer(asyncio.DatagramProtocol):
    """Answers each question for an A record with the next list of addresses, and goes on with the last one.

    Attributes:
        asked: Names, in the order of the questions.
        port: UDP, on 127.0.0.1.
    """

    def __init__(self, answers: Sequence[Sequence[str]]) -> None:
        self._answers = answers
        self.asked: list[str] = []
        self.port = 0

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override] # of UDP
        self._transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name, end = _name(data)
        answer = self._answers[min(len(self.asked), len(self._answers) - 1)]
        self.asked.append(name)
        records = [b"\xc0\x0c" + struct.pack("!HHIH", A, 1, 0, 4) + IPv4Address(ip).packed for ip in answer]
        head = HEADER.pack(HEADER.unpack_from(data)[0], 0x8180, 1, len(records), 0, 0)
        self._transport.sendto(head + data[HEADER.size : end] + b"".join(records), addr)

    def look_up(self, name: str) -> list[str]:
        """Ask this server over UDP; blocks."""
        labels = b"".join(bytes([len(label)]) + label.encode() for label in name.rstrip(".").split("."))
        question = HEADER.pack(7, 0x0100, 1, 0, 0, 0) + labels + struct.pack("!BHH", 0, A, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.settimeout(5)
            connection.sendto(question, ("127.0.0.1", self.port))
            found = connection.recv(4_096)
        count = HEADER.unpack_from(found)[3]
        return [str(IPv4Address(found[len(question) + at * 16 + 12 :][:4])) for at in range(count)]


def _name(data: bytes) -> tuple[str, int]:
    """Return the name of a question, and where the question ends."""
    labels, at = [], HEADER.size
    while size := data[at]:
        labels.append(data[at + 1 : at + 1 + size].decode())
        at += 1 + size
    return ".".join(labels), at + 5


@asynccontextmanager
async def serving_names(*answers: Sequence[str]) -> AsyncIterator[NameServer]:
    """Serve on a free UDP port of loopback.

    Args:
        answers: Addresses for the first question, the second and so on.
    """
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(
        lambda: NameServer(answers), local_addr=("127.0.0.1", 0)
    )
    try:
        yield server
    finally:
        transport.close()
