"""Message size limits: the same for every bus, so that adding NATS does not break a run."""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.bus.errors import MessageTooLargeError
from agentic.core.bus.port import BusMessage

DEFAULT_MAX_MESSAGE_BYTES = 1024 * 1024
"""Default message limit of a NATS server."""

# A server also counts headers, and closes the connection silently if a message is larger (the client
# checks only the payload). The ids of a message and its batch need far less than this.
_HEADER_BYTES = 512

# A server reads command lines of up to 4,096 bytes; a subject shares its line with a reply subject.
_MAX_SUBJECT_BYTES = 3072


def refuse_oversized_value(key: str, value: bytes, max_message_bytes: int) -> None:
    """Check a value of a bucket before anything is sent.

    Raises:
        MessageTooLargeError: It does not fit, or its key is too long.
    """
    if len(value) + _HEADER_BYTES > max_message_bytes:
        raise MessageTooLargeError(key, "the value", len(value) + _HEADER_BYTES, max_message_bytes)
    if len(key) > _MAX_SUBJECT_BYTES:
        raise MessageTooLargeError(key, "the key", len(key), _MAX_SUBJECT_BYTES)


def refuse_oversized(messages: Iterable[BusMessage], max_message_bytes: int) -> None:
    """Check ``messages`` before anything is sent.

    Raises:
        MessageTooLargeError: For the first message that does not fit.
    """
    for message in messages:
        size = len(message.payload) + len(message.message_id) + _HEADER_BYTES
        if size > max_message_bytes:
            raise MessageTooLargeError(message.message_id, "the content", size, max_message_bytes)
        if len(message.subject) > _MAX_SUBJECT_BYTES:
            raise MessageTooLargeError(
                message.message_id, "the subject", len(message.subject), _MAX_SUBJECT_BYTES
            )
