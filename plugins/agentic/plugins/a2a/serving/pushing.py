"""Sends changes of state to the addresses that callers have named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentic.core.errors import line_of
from agentic.core.http import FetchError, HttpPolicy, HttpRequest
from agentic.core.http.errors import PrivateAddressError
from agentic.core.http.guard.addresses import AddressGuard
from agentic.core.http.transports.choice import open_transport
from agentic.core.logging import get_logger
from agentic.core.masking import remember_secrets
from agentic.plugins.a2a.errors import A2AError
from agentic.plugins.a2a.tasks.entries import EntryKind, TaskEntry, TaskView
from agentic.plugins.a2a.tasks.log import TaskKey, TaskLog

log = get_logger(__name__)

MAX_TARGETS = 8
"""Of one task."""

MAX_TRIES = 5
"""How often a delivery is tried; after that, its target gets nothing more."""

MAX_ANSWER_BYTES = 64 * 1024
_PORTS = {"http": 80, "https": 443}
_IN_HEADERS = r"^[ -~]*$"


class PushTargetError(A2AError, ValueError):
    """An address cannot get notifications."""


class PushTarget(BaseModel):
    """An address that gets the changes of a task."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    url: str = Field(max_length=2_048)
    token: str = Field(default="", max_length=1_024, pattern=_IN_HEADERS, repr=False)
    scheme: str = Field(default="", max_length=64, pattern=r"^[A-Za-z0-9-]*$")
    credentials: str = Field(default="", max_length=4_096, pattern=_IN_HEADERS, repr=False)
    seen: int = Field(default=0, description="The last entry that it has.")
    tries: int = Field(default=0, description="Of the delivery after it.")

    def headers(self, task: str, number: int) -> dict[str, str]:
        """Return the headers of a delivery."""
        found = {"content-type": "application/json", "idempotency-key": f"{task}-{number}-{self.id}"}
        if self.token:
            found["x-a2a-notification-token"] = self.token
        if self.scheme and self.credentials:
            found["authorization"] = f"{self.scheme} {self.credentials}"
        return found


class PushNotifications:
    """The push notifications of an agent's tasks.

    Each target gets each change of state, in order and at least once: the place of the last delivery is kept,
    so that another server continues.

    Args:
        tasks: The tasks.
        allow_private_hosts: Hosts that may get them although they are not public: ``host`` or ``host:port``.
        timeout_s: Seconds for one delivery.
    """

    def __init__(
        self, tasks: TaskLog, *, allow_private_hosts: Sequence[str] = (), timeout_s: float = 10.0
    ) -> None:
        self._tasks = tasks
        self._guard = AddressGuard(allow_private_hosts)
        self._policy = HttpPolicy(
            allow_private_hosts=tuple(allow_private_hosts), timeout_s=timeout_s, max_bytes=MAX_ANSWER_BYTES
        )
        self._timeout_s = timeout_s

    def target(self, facts: Mapping[str, object], seen: int) -> PushTarget:
        """Return a checked target.

        Args:
            facts: ``id``, ``url``, ``token``, ``scheme`` and ``credentials``.
            seen: The last entry that it does not need.

        Raises:
            PushTargetError: It cannot get notifications.
        """
        try:
            target = PushTarget.model_validate({**facts, "seen": seen})
            parts = urlsplit(target.url)
            port = parts.port or _PORTS.get(parts.scheme)
            if port is not None and parts.hostname:
                self._guard.check_host(parts.hostname, port)
        except ValidationError as exc:
            fault = exc.errors(include_url=False, include_input=False)[0]
            raise PushTargetError(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None
        except PrivateAddressError:
            raise PushTargetError("notifications go to public addresses only") from None
        except ValueError:  # its text may quote a password
            raise PushTargetError("the URL of the notifications cannot be read") from None
        if port is None or not parts.hostname or parts.username is not None or parts.password is not None:
            raise PushTargetError("the URL must be http or https, with a host and without credentials")
        return target

    async def keep(self, key: TaskKey, target: PushTarget) -> None:
        """Keep a target of a task.

        Raises:
            PushTargetError: The task has too many.
        """
        known = await self.targets(key)
        if target.id not in {one.id for one in known} and len(known) >= MAX_TARGETS:
            raise PushTargetError(f"the task has {len(known)} targets, the most of one task; delete one")
        await self._save(key, target)

    async def targets(self, key: TaskKey) -> list[PushTarget]:
        """Return the targets of a task."""
        found = await self._tasks.read_beside(key, "push.*")
        return [PushTarget.model_validate(json.loads(one)) for one in found.values()]

    async def forget(self, key: TaskKey, target: str) -> bool:
        """Remove a target; False if it does not exist."""
        if target not in {one.id for one in await self.targets(key)}:
            return False
        await self._tasks.delete_beside(key, f"push.{target}")
        return True

    async def deliver(self, key: TaskKey, view: TaskView) -> bool:
        """Send each target the changes that it lacks; return whether all targets have all of them."""
        targets = await self.targets(key)
        if not targets:
            return True
        entries = await self._tasks.entries(key) or ()
        return all([await self._send_changes(key, view, target, entries) for target in targets])

    async def _send_changes(
        self, key: TaskKey, view: TaskView, target: PushTarget, entries: Sequence[TaskEntry]
    ) -> bool:
        if target.tries >= MAX_TRIES:
            return True
        remember_secrets(target.token, target.credentials)
        for number, entry in changes(entries, target.seen):
            fault = await self._send(target, view, number, entry)
            if fault is not None:
                target = target.model_copy(update={"tries": target.tries + 1})
                await self._save(key, target)
                log.warning(
                    "a2a.push_failed", task=key.task, target=target.id, tries=target.tries, error=fault
                )
                return target.tries >= MAX_TRIES
            target = target.model_copy(update={"seen": number, "tries": 0})
            await self._save(key, target)
        return True

    async def _send(self, target: PushTarget, view: TaskView, number: int, entry: TaskEntry) -> str | None:
        from agentic.plugins.a2a.wire import document_of, event_message

        event = document_of(event_message(view, number, entry))
        body = json.dumps({"statusUpdate": event}, separators=(",", ":")).encode()
        headers = target.headers(view.facts.id, number)
        request = HttpRequest(url=target.url, method="POST", headers=headers, body=body)
        try:
            async with open_transport(self._policy) as transport:
                answer = await transport.send(request, timeout_s=self._timeout_s, max_bytes=MAX_ANSWER_BYTES)
        except FetchError as exc:
            return line_of(exc)
        return None if 200 <= answer.status < 300 else f"it answered with status {answer.status}"

    async def _save(self, key: TaskKey, target: PushTarget) -> None:
        await self._tasks.put_beside(key, f"push.{target.id}", target.model_dump_json().encode())


def changes(entries: Iterable[TaskEntry], seen: int) -> list[tuple[int, TaskEntry]]:
    """Return the entries after a number that bring another state than the one before them."""
    found: list[tuple[int, TaskEntry]] = []
    state = None
    for number, entry in enumerate(entries, 1):
        if entry.kind is not EntryKind.STATUS:
            continue
        if entry.state is not state and number > seen:
            found.append((number, entry))
        state = entry.state
    return found
