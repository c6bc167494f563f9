"""Flower that answers only its owner: a module to run, followed by ``-A agentic.executors flower``.

Flower itself answers requests for any host name: a page in the owner's browser could read it under the page's
own host name, resolved to 127.0.0.1 (DNS rebinding). And its ``/metrics`` needs no password.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from celery.__main__ import main
from flower import command
from flower.app import Flower
from tornado.httputil import HTTPServerRequest
from tornado.web import ErrorHandler, RequestHandler

HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})
_OPEN = "/healthcheck"


class GuardedFlower(Flower):  # type: ignore[misc]  # its base has no types
    """Flower that refuses requests with a foreign host name, and every page without the password."""

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:  # noqa: ANN401 - as Tornado has it
        """Return the handler of ``request``: Flower, or a refusal."""
        if not is_own_host(request.host):
            delegate = self.get_handler_delegate(request, ErrorHandler, {"status_code": 403})
        elif request.path != _OPEN and not may_pass(
            request.headers.get("Authorization", ""), self.options.basic_auth or ()
        ):
            delegate = self.get_handler_delegate(request, _AskForPassword, {})
        else:
            delegate = super().find_handler(request, **kwargs)
        return delegate


def is_own_host(host: str) -> bool:
    """Whether a Host header names loopback, at any port, because tunnels use other ports."""
    try:
        return urlsplit(f"//{host}").hostname in HOSTS
    except ValueError:
        return False


def may_pass(authorization: str, logins: Sequence[str]) -> bool:
    """Whether a header has one of ``logins`` (``user:password``); without logins, Flower checks otherwise."""
    given = authorization.encode()
    expected = [b"Basic " + b64encode(login.encode()) for login in logins]
    return not expected or any(hmac.compare_digest(given, one) for one in expected)


class _AskForPassword(RequestHandler):
    def prepare(self) -> None:
        self.set_status(401)
        self.set_header("WWW-Authenticate", 'Basic realm="flower"')
        self.finish()


if __name__ == "__main__":
    command.Flower = GuardedFlower
    main()
