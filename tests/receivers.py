"""Real servers that receive notifications: HTTP, and SMTP by aiosmtpd."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from agentic.core.services import free_port

DROP = 0
"""Instead of a status: the connection ends without an answer."""

HANG = -1
"""Instead of a status: there is no answer until the server ends."""


@dataclass(frozen=True, slots=True)
class Received:
    """A POST request."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        """Its JSON."""
        return json.loads(self.body)


class HttpReceiver:
    """Takes POST requests on loopback inside a ``with`` block; answers with ``statuses``, then with 204."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.statuses: list[int] = []
        self.answer_headers: dict[str, str] = {}
        self._over = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Its root URL, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.05,), name="receiver", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.received.append(Received(self.path, headers, body))
                status = receiver.statuses.pop(0) if receiver.statuses else 204
                if status == HANG:
                    receiver._over.wait()
                if status in {DROP, HANG}:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in receiver.answer_headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        return Handler


class MailReceiver:
    """An SMTP server on loopback; answers messages with ``answers``, then takes them."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.answers: list[str] = []
        self.recipients: list[list[str]] = []
        self._controller = Controller(self, hostname="127.0.0.1", port=free_port())

    @property
    def url(self) -> str:
        """Its URL."""
        return f"smtp://127.0.0.1:{self._controller.port}?from=bot@example.org"

    async def handle_DATA(  # noqa: N802 - as aiosmtpd calls it
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        """Take a mail, or refuse it."""
        assert isinstance(envelope.content, bytes)
        answer = self.answers.pop(0) if self.answers else "250 OK"
        if answer.startswith("250"):
            mail = message_from_bytes(envelope.content, _class=EmailMessage, policy=policy.default)
            assert isinstance(mail, EmailMessage)
            self.mails.append(mail)
            self.recipients.append(envelope.rcpt_tos)
        return answer

    def __enter__(self) -> Self:
        self._controller.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._controller.stop()
