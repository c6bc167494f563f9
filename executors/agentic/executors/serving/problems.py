"""Errors as answers: ``application/problem+json`` (RFC 9457), without traceback and without secrets."""

from __future__ import annotations

from http import HTTPStatus

from starlette.responses import Response

from agentic.core.errors import AgenticError, text_of
from agentic.core.masking import mask_known
from agentic.executors.serving.answers import JsonAnswer

MEDIA_TYPE = "application/problem+json"


def problem(
    status: int, detail: str, *, code: str = "", headers: dict[str, str] | None = None, **facts: object
) -> Response:
    """Return an error as an answer.

    Args:
        status: Of HTTP.
        detail: The error, and the next step.
        code: For programs; by default the words of the status: ``not_found``.
        headers: Further headers.
        facts: Further fields.
    """
    title = HTTPStatus(status).phrase
    content = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "code": code or title.lower().replace(" ", "_").replace("-", "_"),
        "detail": mask_known(detail),
        **facts,
    }
    return JsonAnswer(content, status, headers=headers, media_type=MEDIA_TYPE)


def problem_of(error: AgenticError) -> Response:
    """Return one of our errors as an answer: its message says what to do next."""
    return problem(status_of(error), text_of(error), code=code_of(error))


def status_of(error: AgenticError) -> int:
    """Return the status of an error, by its name and the standard exception that it also is."""
    if error.exit_code == 3 or isinstance(error, ConnectionError):
        return 503
    if isinstance(error, LookupError) or type(error).__name__.startswith("Unknown"):
        return 404
    if isinstance(error, PermissionError):
        return 403
    return 422 if isinstance(error, ValueError | TypeError) else 409


def code_of(error: AgenticError) -> str:
    """Return the code of an error: ``UnknownRunError`` is ``unknown_run``."""
    name = type(error).__name__.removesuffix("Error")
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")
