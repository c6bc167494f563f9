"""Serves the answers of a case on loopback, byte by byte. Standard library only."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.bench.web.model import Answer, Answers, Case, Walled

MISSING = Answer(body="<h1>missing</h1>", status="404 Not Found")


@dataclass(slots=True)
class Served:
    """The sites of a case.

    Attributes:
        places: Name in the case -> address, without a slash at the end.
        round: The number of the current round, from 0.
        asked: Path and query of every request, exactly as they came.
    """

    places: dict[str, str] = field(default_factory=dict)
    round: int = 0
    asked: list[str] = field(default_factory=list)

    def fill(self, text: str) -> str:
        """Return a text with the addresses in the places of their names."""
        for name, address in self.places.items():
            text = text.replace(f"{{{name}}}", address)
        return text


@contextmanager
def serving(case: Case) -> Iterator[Served]:
    """Serve the sites of a case until the end of the block."""
    served = Served()
    with ExitStack() as open_sites:
        port = open_sites.enter_context(_site(served, case.routes))
        served.places["here"] = f"http://127.0.0.1:{port}"
        if case.beside:
            port = open_sites.enter_context(_site(served, case.beside))
            served.places |= {"next_door": f"http://127.0.0.1:{port}", "other": f"http://localhost:{port}"}
        yield served


@contextmanager
def _site(served: Served, routes: Mapping[str, Answers]) -> Iterator[int]:
    class Visit(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = _read_head(self)
            if head:
                target = head.split(" ")[1]
                served.asked.append(target)
                answer = _chosen(routes.get(target, MISSING), served.round, head)
                self.wfile.write(_written(answer, served))

    with _Server(("127.0.0.1", 0), Visit) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64


def _read_head(visit: socketserver.StreamRequestHandler) -> str:
    lines = []
    while (line := visit.rfile.readline(65_536)) not in {b"", b"\r\n"}:
        lines.append(line.decode("latin-1"))
    return "".join(lines)


def _chosen(found: Answers, round_number: int, head: str) -> Answer:
    if isinstance(found, Walled):
        cookies = [line for line in head.splitlines() if line.lower().startswith("cookie:")]
        return found.inside if any(found.cookie in line for line in cookies) else found.outside
    return found[round_number] if isinstance(found, tuple) else found


def _written(answer: Answer, served: Served) -> bytes:
    body = answer.body if isinstance(answer.body, bytes) else served.fill(answer.body).encode(answer.charset)
    body = answer.pack(body) if answer.pack else body
    lines = [f"HTTP/1.1 {answer.status}".encode()]
    if answer.media_type:
        lines.append(f"Content-Type: {answer.media_type}".encode())
    if answer.length != -1:
        lines.append(b"Content-Length: %d" % (len(body) if answer.length is None else answer.length))
    lines += [one if isinstance(one, bytes) else served.fill(one).encode() for one in answer.fields]
    return b"\r\n".join([*lines, b"Connection: close", b"", body])
