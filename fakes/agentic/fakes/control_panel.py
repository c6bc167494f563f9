"""The routes below ``/__control``."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from agentic.fakes.asgi import CONTROL
from agentic.fakes.clock import ClockOrder
from agentic.fakes.control import Control, Fault
from agentic.fakes.feeds.orders import FeedOrder
from agentic.fakes.firecrawl.account import AccountOrder
from agentic.fakes.github.account import GithubOrder
from agentic.fakes.jobs.sessions import SessionOrder
from agentic.fakes.news.revisions import Revision
from agentic.fakes.reddit.account import RedditOrder
from agentic.fakes.redesign.orders import Redesign

OrderT = TypeVar("OrderT", bound=BaseModel)


class ControlPanel:
    """Lets clients arm faults, change what the fakes remember, and read counts.

    A body that makes no sense is answered with 422 and what is wrong with which field.
    """

    def __init__(self, control: Control) -> None:
        self._control = control

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        return [
            Route(f"{CONTROL}/faults", self.add_fault, methods=["POST"]),
            Route(f"{CONTROL}/clock", self.tell_time),
            Route(f"{CONTROL}/clock", self.change_time, methods=["POST"]),
            Route(f"{CONTROL}/sessions", self.change_sessions, methods=["POST"]),
            Route(f"{CONTROL}/revise", self.revise, methods=["POST"]),
            Route(f"{CONTROL}/redesign", self.redesign, methods=["POST"]),
            Route(f"{CONTROL}/feeds", self.change_feeds, methods=["POST"]),
            Route(f"{CONTROL}/firecrawl", self.change_account, methods=["POST"]),
            Route(f"{CONTROL}/github", self.change_github, methods=["POST"]),
            Route(f"{CONTROL}/reddit", self.change_reddit, methods=["POST"]),
            Route(f"{CONTROL}/stats", self.stats),
            Route(f"{CONTROL}/reset", self.reset, methods=["POST"]),
        ]

    async def add_fault(self, request: Request) -> Response:
        """``POST /__control/faults``: arm one fault."""
        order = await _read(Fault, request)
        if isinstance(order, Fault):
            self._control.add(order)
        return _told(order)

    async def change_time(self, request: Request) -> Response:
        """``POST /__control/clock``: move the time on, let it stand still or go on."""
        order = await _read(ClockOrder, request)
        if isinstance(order, ClockOrder):
            self._control.clock.change(order)
        return _told(order)

    async def tell_time(self, request: Request) -> Response:  # noqa: ARG002 - starlette hands it over
        """``GET /__control/clock``: what time it is at the fakes."""
        moment = self._control.clock.moment()
        return JSONResponse({"now": moment.timestamp(), "date": moment.isoformat()})

    async def change_sessions(self, request: Request) -> Response:
        """``POST /__control/sessions``: let the sessions and tokens of the job board end."""
        order = await _read(SessionOrder, request)
        if isinstance(order, SessionOrder):
            self._apply(order)
        return _told(order)

    async def revise(self, request: Request) -> Response:
        """``POST /__control/revise``: change articles of the newspaper."""
        order = await _read(Revision, request)
        if isinstance(order, Revision):
            self._control.revisions.add(order)
        return _told(order)

    async def redesign(self, request: Request) -> Response:
        """``POST /__control/redesign``: give pages of the shop or the newspaper another layout."""
        order = await _read(Redesign, request)
        if isinstance(order, Redesign):
            self._control.redesigns.add(order)
        return _told(order)

    async def change_feeds(self, request: Request) -> Response:
        """``POST /__control/feeds``: what the feeds tell from now on, and how often they want to be asked."""
        order = await _read(FeedOrder, request)
        if isinstance(order, FeedOrder):
            self._control.feeds.change(order)
        return _told(order)

    async def change_account(self, request: Request) -> Response:
        """``POST /__control/firecrawl``: credits left, and the pace of jobs."""
        order = await _read(AccountOrder, request)
        if isinstance(order, AccountOrder):
            self._control.firecrawl.change(order)
        return _told(order)

    async def change_github(self, request: Request) -> Response:
        """``POST /__control/github``: requests left, refusals to come, issues to close."""
        order = await _read(GithubOrder, request)
        if isinstance(order, GithubOrder):
            self._control.github.change(order)
        return _told(order)

    async def change_reddit(self, request: Request) -> Response:
        """``POST /__control/reddit``: requests left, tokens that end, things to delete, votes."""
        order = await _read(RedditOrder, request)
        if isinstance(order, RedditOrder):
            self._control.reddit.change(order)
        return _told(order)

    async def stats(self, request: Request) -> Response:  # noqa: ARG002 - starlette hands it over
        """``GET /__control/stats``: what was asked so far."""
        return JSONResponse(self._control.stats())

    async def reset(self, request: Request) -> Response:  # noqa: ARG002 - starlette hands it over
        """``POST /__control/reset``: as if nobody had asked for anything."""
        self._control.reset()
        return Response(status_code=204)

    def _apply(self, order: SessionOrder) -> None:
        if order.requests is not None:
            self._control.sessions.limit(order.requests)
        if order.token_lifetime_s is not None:
            self._control.tokens.live(order.token_lifetime_s)
        if order.expire:
            self._control.sessions.expire()
            self._control.tokens.expire()


async def _read(kind: type[OrderT], request: Request) -> OrderT | ValidationError:
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as exc:
        return exc


def _told(order: BaseModel | ValidationError) -> Response:
    if isinstance(order, BaseModel):
        return JSONResponse(order.model_dump(mode="json"), 201)
    errors = [{"field": _field(error["loc"]), "message": error["msg"]} for error in order.errors()]
    return JSONResponse({"errors": errors}, 422)


def _field(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "body"
