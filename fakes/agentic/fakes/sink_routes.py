"""Where webhooks may send to, mounted below ``/sink``.

POST /{name}   keeps the request: 202 and its number (PUT and PATCH do too)
GET  /{name}   ``{"deliveries": [{"method", "query", "headers", "body", "body_base64"}, ...]}``, oldest first
"""

from __future__ import annotations

from base64 import b64encode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from agentic.core.types import JSONValue
from agentic.fakes.sink import Delivery, Sink


def sink_routes(sink: Sink) -> list[BaseRoute]:
    """Return the routes that keep in ``sink`` what they are sent."""

    async def keep(request: Request) -> Response:
        delivery = Delivery(
            method=request.method,
            query=request.url.query,
            headers=dict(request.headers),
            body=await request.body(),
        )
        return JSONResponse({"number": sink.keep(request.path_params["name"], delivery)}, 202)

    async def show(request: Request) -> Response:
        return JSONResponse(
            {"deliveries": [_plain(one) for one in sink.received(request.path_params["name"])]}
        )

    return [
        Route("/{name}", keep, methods=["POST", "PUT", "PATCH"]),
        Route("/{name}", show),
    ]


def _plain(delivery: Delivery) -> JSONValue:
    return {
        "method": delivery.method,
        "query": delivery.query,
        "headers": dict(delivery.headers),
        "body": delivery.body.decode("utf-8", "replace"),
        "body_base64": b64encode(delivery.body).decode(),
    }
