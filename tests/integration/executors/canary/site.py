"""A site that says back whatever it is told: in pages, in refusals, in redirections."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Self
from urllib.parse import quote, unquote, urlsplit

FORM = """<form action="{action}" method="post"><input name="user"><input name="password" type="password">
<button>in</button></form>"""


class EchoSite:
    """Serves on loopback between ``with`` and its end.

    ``/echo`` answers 200, ``/says/404`` with that status, ``/slow`` after 2 s, ``/away`` leads to another
    page whose address has all headers in its query, ``/login`` has a form and leads on to a cookie,
    ``/token`` gives the client's secret back as its token. Each body has the request's address, headers and
    body in it, as they came and decoded. APIs are ``/denied/403``, which says in JSON whom it refuses,
    ``/hub``, which does so for one of two repositories, and ``/mint``, which gives a token.

    Args:
        minted: The token, and the cookie.
    """

    def __init__(self, minted: str) -> None:
        self.count = 0
        self._minted = minted
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Root of what it serves, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.05,), name="echo", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                """Answer."""
                site.count += 1
                path = urlsplit(self.path).path
                sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                words = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
                told = f"{self.path}\n{unquote(self.path)}\n{words}\n{sent}\n{unquote(sent)}"
                if path == "/slow":
                    time.sleep(2)
                authorization = self.headers.get("Authorization", "")
                answer = _api(path, authorization, site._minted) or _answer(path, authorization, words, told)
                self._say(*answer)

            do_POST = do_GET  # noqa: N815 - the base's name
            do_PUT = do_GET  # noqa: N815 - the base's name

            def _say(self, status: int, text: str, headers: dict[str, str]) -> None:
                body = text.encode()
                self.send_response(status)
                for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(ConnectionError):  # who asked may have gone
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler


Answer = tuple[int, str, dict[str, str]]
"""Status, body and headers."""

JSON = {"Content-Type": "application/json"}


def _api(path: str, authorization: str, minted: str) -> Answer | None:
    """Return what an API answers; None where there is none."""
    said = f"denied for {authorization}"
    refusal = json.dumps({"message": said, "error": said, "success": False})
    match path.split("/")[1:]:
        case ["denied", status, *_]:
            return int(status), refusal, JSON
        case ["hub", "repos", _, "good"]:
            return 200, json.dumps({"id": 7, "full_name": "ada/good", "name": "good"}), JSON
        case ["hub", *_]:
            return 403, refusal, JSON
        case ["mint", *_]:
            return (
                200,
                json.dumps({"access_token": minted, "token_type": "bearer", "expires_in": 3_600}),
                JSON,
            )
        case ["entered"]:
            return 200, "in", {"Set-Cookie": f"sid={quote(minted, safe='')}; Path=/"}
        case _:
            return None


def _answer(path: str, authorization: str, words: str, told: str) -> Answer:
    """Return what a page answers."""
    away = f"/says/403/{quote(words, safe='')}?told={quote(words)}"
    match path.split("/")[1:]:
        case ["away"]:
            return 302, told, {"Location": away}
        case ["login"]:
            return 200, FORM.format(action="/entered"), {}
        case ["token"]:
            token = authorization.removeprefix("Basic ")
            return 200, json.dumps({"access_token": token, "token_type": "bearer"}), {}
        case ["says", status, *_]:
            return int(status), told, {"X-Told": quote(words)}
        case _:
            return 200, f"<title>{told}</title><p class='echo'>{told}</p>", {"ETag": '"1"'}
