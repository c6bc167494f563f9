"""Answers of providers that are failures, as errors of models. Pure."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from agentic.core.http.failures import retry_after_s
from agentic.core.linear import LinearPattern
from agentic.core.llm.errors import (
    BadModelRequestError,
    ContentRefusedError,
    ContextWindowExceededError,
    ModelAuthError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    QuotaExhaustedError,
    RateLimitedError,
    UnknownModelError,
)
from agentic.core.masking import Masker, mask_known

REASON_CHARS = 500
MAX_FAILURE_BYTES = 1024 * 1024
"""Of the body of a failure: more is not read."""
_READ_CHARS = 16 * 1024
LONGEST_S = 86_400.0
# Statuses of requests that were read and refused. Older llama.cpp says 500 for a long prompt.
_READ = (400, 413, 422, 500)
_TOO_LONG = LinearPattern(
    r"context_length_exceeded|exceed_context_size|maximum context length|prompt is too long|context window|"
    r"context[_ ](?:size|length|limit)|maximum number of tokens allowed|input token count",
    ignore_case=True,
)
_NO_MONEY = LinearPattern(
    r"insufficient_quota|billing_hard_limit|billing_not_active|billing_error|credit balance|"
    r"insufficient balance|insufficient credits|PerDay",
    ignore_case=True,
)
_REFUSED = LinearPattern(r"content_filter|content_policy|content filter|safety_violation", ignore_case=True)
_BAD_KEY = LinearPattern(r"API_KEY_INVALID|API key not valid|invalid_api_key", ignore_case=True)
_NO_MODEL = LinearPattern(r"model_not_found|not a valid model|model .{0,120} not found", ignore_case=True)
_DELAY = LinearPattern(r"(\d{1,6}(?:\.\d{1,9})?)s")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAnswer:
    """An answer that is a failure.

    Attributes:
        status: The HTTP status; 0 for an error in a stream that began well.
        message: The provider's words.
        code: Its codes and types, in one text.
        headers: Headers, with names in lower case.
        retry_in: A delay such as ``"34s"``, in the body of an answer of Google.
    """

    status: int
    message: str
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_in: str = ""


class FailedAnswerError(Exception):
    """An answer is a failure; adapters that read answers themselves raise it within their SDK."""

    def __init__(self, answer: FailedAnswer) -> None:
        super().__init__(answer.message)
        self.answer = answer


class UnreadableAnswerError(ValueError):
    """An answer is too long, or packed in a way that the request did not accept."""


def failure_of(
    model: str, answer: FailedAnswer, *, secrets: tuple[str, ...] = (), now: datetime | None = None
) -> ModelError:
    """Return the error that fits an answer, without secrets in its text."""
    reason = clean(answer.message or "no message", secrets)
    cls = _class_of(answer)
    wait_s = _wait_s(answer, now or datetime.now(UTC)) if cls.is_retriable else None
    return cls(model, reason, status=answer.status or None, retry_after_s=wait_s)


def parse_failure(status: int, headers: Mapping[str, str], text: str) -> FailedAnswer:
    """Return an answer from its body: JSON in any of the forms that servers of models use, or other text.

    Args:
        status: The HTTP status; 0 for an error in a stream, whose code then counts if it is a status.
        headers: Of the answer.
        text: The body.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and found:
        found = found[0]
    body = found if isinstance(found, dict) else {}
    error = body.get("error", body)
    facts = error if isinstance(error, dict) else {"message": error}
    message = next((facts[name] for name in ("message", "detail") if facts.get(name)), text)
    code = facts.get("code")
    return FailedAnswer(
        status=status or (code if isinstance(code, int) and 400 <= code < 600 else 0),
        message=(message if isinstance(message, str) else json.dumps(message))[:_READ_CHARS],
        code=" ".join(
            [*(str(facts[name]) for name in ("code", "type", "status") if facts.get(name)), *_reasons(facts)]
        )[:_READ_CHARS],
        headers={name.lower(): value for name, value in headers.items()},
        retry_in=next((str(one["retryDelay"]) for one in _details(facts) if "retryDelay" in one), ""),
    )


async def read_failure(chunks: AsyncIterator[bytes]) -> str:
    """Return the beginning of the body of a failure as text."""
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) >= MAX_FAILURE_BYTES:
            break
    return bytes(body[:MAX_FAILURE_BYTES]).decode(errors="replace")


def _details(facts: Mapping[str, object]) -> list[Mapping[str, object]]:
    details = facts.get("details")
    return [one for one in details if isinstance(one, dict)] if isinstance(details, list) else []


def _reasons(facts: Mapping[str, object]) -> list[str]:
    """Return Google's reasons, and the quotas that are used up."""
    found = [str(one["reason"]) for one in _details(facts) if "reason" in one]
    for one in _details(facts):
        violations = one.get("violations")
        found += [str(each.get("quotaId", "")) for each in violations] if isinstance(violations, list) else []
    return found


def clean(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return the provider's words on one line, not too long and without secrets."""
    words = " ".join(mask_known(Masker.of(secrets).text(text)).split())
    return words if len(words) <= REASON_CHARS else f"{words[:REASON_CHARS]}..."


def _class_of(answer: FailedAnswer) -> type[ModelError]:  # noqa: PLR0911  # one rule a line
    words = f"{answer.code} {answer.message}"
    if answer.status in (0, *_READ) and _TOO_LONG.search(words):
        return ContextWindowExceededError
    if answer.status == 402 or (answer.status in (0, 400, 403, 429) and _NO_MONEY.search(words)):
        return QuotaExhaustedError
    if answer.status in (0, 400, 403) and _REFUSED.search(words):
        return ContentRefusedError
    if answer.status in (401, 403) or (answer.status == 400 and _BAD_KEY.search(words)):
        return ModelAuthError
    if answer.status == 404 or (answer.status == 400 and _NO_MODEL.search(words)):
        return UnknownModelError
    if answer.status == 429 or (not answer.status and "rate_limit" in words):
        return RateLimitedError
    if answer.status in (408, 504, 524):
        return ModelTimeoutError
    # An error in the middle of a stream has no status: it is the provider's fault, unless it says otherwise.
    is_request = 300 <= answer.status < 500 or "invalid_request" in words
    return BadModelRequestError if is_request else OverloadedError


def _wait_s(answer: FailedAnswer, now: datetime) -> float | None:
    milliseconds = answer.headers.get("retry-after-ms", "").strip()
    if milliseconds.isascii() and milliseconds.isdigit():
        return min(float(milliseconds) / 1000, LONGEST_S)
    if found := _DELAY.fullmatch(answer.retry_in):
        return min(float(found[1]), LONGEST_S)
    return retry_after_s(answer.headers, now)
