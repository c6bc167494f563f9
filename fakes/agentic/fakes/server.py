"""Serves the fakes from a thread of this process, on a real socket."""

from __future__ import annotations

import logging
import socket
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Self

from agentic.core.logging import get_logger
from agentic.fakes.app import create_app, require
from agentic.fakes.clock import FakeClock
from agentic.fakes.control import Control
from agentic.fakes.errors import AddressTakenError

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn import Server

log = get_logger(__name__)

STOP_S = 1
GRACE_S = 4
KEEP_ALIVE_S = 60
BACKLOG = 1_024


class LoopbackServer:
    """An application under control on a loopback port, between ``with`` and its end.

    Args:
        app: What :func:`~agentic.fakes.app.under_control` gave.
        control: What it is controlled by.
        host: Where to listen.
        port: 0 takes a free one.

    Attributes:
        control: Faults to inject and requests counted.

    Raises:
        MissingExtraError: uvicorn is not installed.
        AddressTakenError: On entering: it cannot listen there.
    """

    def __init__(self, app: ASGIApp, control: Control, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host = host
        self.port = port
        self.control = control
        self._server = _uvicorn(app)
        self._thread: Thread | None = None

    @property
    def clock(self) -> FakeClock:
        """The time at the fakes."""
        return self.control.clock

    @property
    def url(self) -> str:
        """``http://host:port``; the port is known once the server listens."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @property
    def control_url(self) -> str:
        """Where faults are injected and requests counted."""
        return f"{self.url}/__control"

    def __enter__(self) -> Self:
        # The socket listens before the thread starts, so nobody is ever refused and nothing is waited for.
        listener = _listen(self.host, self.port)
        self.port = listener.getsockname()[1]
        self._thread = Thread(target=self._server.run, args=([listener],), name="agentic-fakes", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        if self._thread is None:
            return
        self._thread.join(STOP_S + GRACE_S)
        if self._thread.is_alive():  # an answer that does not end; the thread is a daemon
            self._server.force_exit = True
            self._thread.join(GRACE_S)
            log.warning("fakes.cut_off", port=self.port, left=self._thread.is_alive())


class FakeServer(LoopbackServer):
    """The fakes on a loopback port, between ``with`` and its end.

    Args:
        seed: The same seed and sizes give the same bytes.
        stories: Submissions on the fake Hacker News.
        products: Articles in the shop.
        host: Where to listen.
        port: 0 takes a free one.

    Raises:
        MissingExtraError: starlette or uvicorn is not installed.
        AddressTakenError: On entering: it cannot listen there.
    """

    def __init__(
        self,
        *,
        seed: int = 1,
        stories: int = 500,
        products: int = 240,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        control = Control()
        app = create_app(seed=seed, stories=stories, products=products, control=control)
        super().__init__(app, control, host=host, port=port)

    @property
    def hackernews_url(self) -> str:
        """Base URL of the fake Hacker News API, in place of ``https://hacker-news.firebaseio.com/v0``."""
        return f"{self.url}/hackernews/v0"

    @property
    def algolia_url(self) -> str:
        """Base URL of the fake Hacker News search, in place of ``https://hn.algolia.com/api/v1``."""
        return f"{self.url}/hackernews/api/v1"

    @property
    def shop_url(self) -> str:
        """Home page of the shop."""
        return f"{self.url}/shop/"

    @property
    def jobs_url(self) -> str:
        """Home page of the job board."""
        return f"{self.url}/jobs/"

    @property
    def feeds_url(self) -> str:
        """Where the feeds are, with a page that links to them."""
        return f"{self.url}/feeds/"

    @property
    def news_url(self) -> str:
        """Home page of the newspaper."""
        return f"{self.url}/news/"

    @property
    def hostile_url(self) -> str:
        """Below it is everything a crawler should survive."""
        return f"{self.url}/hostile/"

    @property
    def firecrawl_url(self) -> str:
        """The ``api_url`` for clients of Firecrawl."""
        return f"{self.url}/firecrawl"

    @property
    def github_url(self) -> str:
        """Base URL of the fake GitHub API, in place of ``https://api.github.com``."""
        return f"{self.url}/github"

    @property
    def reddit_url(self) -> str:
        """Home of the fake Reddit, in place of ``https://www.reddit.com``: tokens, feeds and pages."""
        return f"{self.url}/reddit"

    @property
    def reddit_api_url(self) -> str:
        """Base URL of its API, in place of ``https://oauth.reddit.com``."""
        return f"{self.url}/reddit/oauth"

    @property
    def reddit_archive_url(self) -> str:
        """Base URL of its archive, in place of ``https://arctic-shift.photon-reddit.com``."""
        return f"{self.url}/reddit/archive"

    @property
    def sink_url(self) -> str:
        """Where webhooks may send to, followed by a name."""
        return f"{self.url}/sink/"


def _uvicorn(app: ASGIApp) -> Server:
    require("uvicorn")
    from uvicorn import Config, Server

    logging.getLogger("uvicorn.error").addFilter(_is_unexpected)
    return Server(
        Config(
            app,
            access_log=False,
            backlog=BACKLOG,
            lifespan="off",
            log_config=None,
            log_level="warning",
            timeout_graceful_shutdown=STOP_S,
            timeout_keep_alive=KEEP_ALIVE_S,
            ws="none",
        )
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only for sockets that say TCP: with the protocol left at 0, as
    # socket.create_server does, every answer waits 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as exc:
        listener.close()
        raise AddressTakenError(host, port, exc.strerror or str(exc)) from exc
    return listener


def _is_unexpected(record: logging.LogRecord) -> bool:
    """Keep quiet about answers that a fault cut off on purpose."""
    return "without completing response" not in record.getMessage()
