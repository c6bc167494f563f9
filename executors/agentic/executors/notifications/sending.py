"""Empties the outbox of notifications. Any number of senders may run."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from agentic.core.errors import AgenticError, line_of, text_of
from agentic.core.http.policy import SECRET
from agentic.core.ids import new_id
from agentic.core.logging import get_logger
from agentic.core.threads import in_thread
from agentic.executors.notifications.arrival import Arrival, Sending, Target
from agentic.executors.notifications.channels import TIMEOUT_S, send_message
from agentic.executors.notifications.deciding import HOUR_S, MAX_TRIES, PendingEvent, may_be_sent, pause_after
from agentic.executors.notifications.messages import Notice, NotificationMessage, message_of, sample_message
from agentic.mappers.catalog.schedules import store_now
from agentic.mappers.notifications.outbox import (
    abandon_lost,
    claim,
    due_rules,
    end_message,
    lock_rule,
    pending_of,
    projects_with_due,
    return_message,
    sent_since,
)
from agentic.mappers.tables.notifications import NotificationRuleModel, NotificationState
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.vault import SqlSecrets

if TYPE_CHECKING:
    from agentic.core.settings import Settings
    from agentic.mappers import Database

log = get_logger(__name__)

LEASE_S = 4 * TIMEOUT_S
"""A sender that has no answer until then is gone."""

MAX_AT_ONCE = 8
"""Rules whose messages are sent at the same time: one slow target must not delay the others."""

_JITTER = 0.2

Send = Callable[[Target, NotificationMessage], Awaitable[Sending]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claimed:
    """A message that only this process may send."""

    project_id: str
    rule: NotificationRuleModel
    message: NotificationMessage
    tries: int
    event_count: int


class NotificationSender:
    """Sends the events in the outbox, each at most once.

    Args:
        database: Holds the outbox.
        settings: Name the keys of the secrets.
        send: Sends a message.
    """

    def __init__(self, database: Database, settings: Settings, send: Send = send_message) -> None:
        self._database = database
        self._keys = SecretKeys.configured(settings)
        self._send = send

    async def send_due(self, project_id: str | None = None) -> int:
        """Send the due events, in one project or in all; return the number of sent messages.

        Raises:
            DatabaseUnavailableError: The database cannot be opened.
            SQLAlchemyError: The database reports an error.
        """
        turns = asyncio.Semaphore(MAX_AT_ONCE)
        sent = 0
        for project in await in_thread(self._projects):
            if project_id in (None, project):
                rules = await in_thread(partial(self._due, project))
                work = (self._send_of(project, rule, turns) for rule in rules)
                results = await asyncio.gather(*work, return_exceptions=True)
                if faults := [result for result in results if isinstance(result, BaseException)]:
                    raise faults[0]
                sent += sum(result is True for result in results)
        return sent

    async def keep_sending(self, every_s: float) -> None:
        """Send the due events every ``every_s`` seconds, plus or minus a fifth, until cancelled."""
        was_away = False
        while True:
            try:
                await self.send_due()
            except (AgenticError, SQLAlchemyError) as exc:
                if not was_away:
                    log.warning("notifications.waiting", reason=line_of(exc))
                was_away = True
            else:
                was_away = False
            await asyncio.sleep(every_s * random.uniform(1 - _JITTER, 1 + _JITTER))  # noqa: S311 - no secret

    async def test(self, rule: NotificationRuleModel, project: str) -> Sending:
        """Send a sample message for a rule, past the outbox."""
        return await self._sent(rule, sample_message(new_id(), rule.name, project))

    async def _send_of(self, project_id: str, rule_id: str, turns: asyncio.Semaphore) -> bool:
        async with turns:
            claimed = await in_thread(partial(self._claim, project_id, rule_id))
            if claimed is None:
                return False
            sending = await self._sent(claimed.rule, claimed.message)
            await in_thread(partial(self._record, claimed, sending))
            return sending.arrival is Arrival.SENT

    async def _sent(self, rule: NotificationRuleModel, message: NotificationMessage) -> Sending:
        secrets = SqlSecrets(self._database, rule.project_id, self._keys)
        try:
            target = await whole_target(rule, secrets)
        except AgenticError as exc:  # a secret is missing
            return Sending(arrival=Arrival.RETRY, reason=text_of(exc))
        return await self._send(target, message)

    def _projects(self) -> Sequence[str]:
        with self._database.reading() as session:
            return projects_with_due(session)

    def _due(self, project_id: str) -> Sequence[str]:
        with self._database.writing() as session:
            lost = abandon_lost(session, project_id)
            found = due_rules(session, project_id)
        if lost:
            log.warning("notifications.lost", count=lost)
        return found

    def _claim(self, project_id: str, rule_id: str) -> _Claimed | None:
        with self._database.writing() as session:
            rule = lock_rule(session, project_id, rule_id)
            if rule is None:
                return None
            rows, now = pending_of(session, rule), store_now(session)
            waiting = [PendingEvent(row.due_at, row.tries) for row in rows]
            if not may_be_sent(waiting, sent_since(session, rule, HOUR_S), rule.max_per_hour, now):
                return None
            notices = [
                Notice(
                    event=row.event,
                    execution_id=row.execution_id,
                    facts=row.facts,
                    at=row.created_at.isoformat(),
                )
                for row in rows
            ]
            message_id = claim(session, rows, now, LEASE_S)
            return _Claimed(
                project_id=project_id,
                rule=rule,
                message=message_of(message_id, rule.name, notices),
                tries=max(row.tries for row in rows),
                event_count=len(rows),
            )

    def _record(self, claimed: _Claimed, sending: Sending) -> None:
        state = _STATES.get(sending.arrival)
        with self._database.writing() as session:
            if state is None:
                pause_s = pause_after(claimed.tries + 1, sending.retry_after_s)
                return_message(
                    session,
                    claimed.project_id,
                    claimed.message.id,
                    sending.reason,
                    after_s=pause_s,
                    max_tries=MAX_TRIES,
                )
            else:
                end_message(session, claimed.project_id, claimed.message.id, state, sending.reason or None)
        facts = {"rule": claimed.rule.name, "events": claimed.event_count, "message": claimed.message.id}
        if sending.arrival is Arrival.SENT:
            log.info("notification.sent", **facts)
        else:
            log.warning("notification.failed", **facts, then=str(state or "retry"), reason=sending.reason)


_STATES = {
    Arrival.SENT: NotificationState.SENT,
    Arrival.REFUSED: NotificationState.FAILED,
    Arrival.UNKNOWN: NotificationState.UNKNOWN,
}


async def whole_target(rule: NotificationRuleModel, secrets: SqlSecrets) -> Target:
    """Return the target of a rule with its secrets; logs of this process mask them from now on.

    Raises:
        UnknownSecretError: A secret does not exist.
        VaultError: A secret cannot be read.
    """
    credential = None if rule.credential is None else await _filled(rule.credential, secrets)
    return Target(
        channel=rule.channel,
        address=await _filled(rule.target, secrets),
        credential=credential,
        may_be_private=rule.may_be_private,
    )


async def _filled(text: str, secrets: SqlSecrets) -> str:
    found: dict[str, str] = {}
    for name in dict.fromkeys(SECRET.findall(text)):
        found[name] = (await secrets.secret(name)).get_secret_value()

    def value_of(named: re.Match[str]) -> str:
        return found[named[1]]

    return SECRET.sub(value_of, text)
