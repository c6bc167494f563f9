"""An instance: a timeline, read page by page from its newest status on."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from agentic.core.http import HttpSession, JsonApi
from pydantic import BaseModel, SecretStr, TypeAdapter

from agentic_plugin_mastodon.items import Answer, Found, Timeline, order

PER_PAGE = 40
"""More no instance gives."""

_NEXT = re.compile(r"<([^<>]+)>\s*;\s*(?:[^,<>]*;\s*)?rel=\"?next\b")
_STATUSES = TypeAdapter(list[Answer])

Secret = Callable[[str], Awaitable[SecretStr]]


class _Named(BaseModel):
    id: str


_ACCOUNT = TypeAdapter(_Named)


class MastodonClient:
    """Reads timelines.

    Args:
        api: Of the instance, at its root.
        secret: Name of the secret that holds the token; None asks as nobody.
        secrets: Gives a secret by name.
    """

    def __init__(self, api: JsonApi, secret: str | None, secrets: Secret) -> None:
        self._api = api
        self._secret = secret
        self._secrets = secrets

    async def read(self, timeline: Timeline) -> Found:
        """Return what is new, as far as the limit allows.

        Raises:
            FetchError: An answer did not come.
            UnexpectedAnswerError: It is something else than an instance's.
            UnknownSecretError: There is no such secret.
        """
        session = await self._session()
        place = await self._place(timeline, session)
        statuses: list[Answer] = []
        is_all, older_than = False, ""
        while not is_all and len(statuses) < timeline.limit:
            response = await self._api.ask(f"{place}?{urlencode(_query(timeline, older_than))}", session)
            page = self._api.read(response, _STATUSES)
            new = [status for status in page if not _is_known(status, timeline.since_id)]
            statuses += new
            following = next_max_id(response.headers)
            # Links leave since_id out: where the known ones begin, one has to stop by oneself.
            is_all = not page or len(new) < len(page) or following in (None, older_than)
            older_than = following or ""
        is_all = is_all and len(statuses) <= timeline.limit
        return _found(timeline, statuses[: timeline.limit], is_all=is_all)

    async def _place(self, timeline: Timeline, session: HttpSession | None) -> str:
        if timeline.account is None:
            return f"api/v1/{timeline.place}"
        query = urlencode({"acct": timeline.account})
        response = await self._api.ask(f"api/v1/accounts/lookup?{query}", session)
        account = self._api.read(response, _ACCOUNT)
        return f"api/v1/accounts/{quote(account.id, safe='')}/statuses"

    async def _session(self) -> HttpSession | None:
        if self._secret is None:
            return None
        token = (await self._secrets(self._secret)).get_secret_value().strip()
        return HttpSession(
            name=f"mastodon/{self._secret}",
            hosts=frozenset({urlsplit(self._api.base_url).netloc.lower()}),
            headers={"authorization": SecretStr(f"Bearer {token}")},
        )


def next_max_id(headers: Mapping[str, str]) -> str | None:
    """Return the ``max_id`` of ``Link: <...>; rel="next"``, all that is needed; None on the last page."""
    found = _NEXT.search(headers.get("link", ""))
    values = parse_qs(urlsplit(found[1]).query).get("max_id") if found else None
    return values[0] if values else None


def _query(timeline: Timeline, older_than: str) -> dict[str, str]:
    query = {**timeline.options, "limit": str(min(PER_PAGE, timeline.limit))}
    if timeline.since_id is not None:
        query["since_id"] = timeline.since_id
    if older_than:
        query["max_id"] = older_than
    return query


def _is_known(status: Answer, since_id: str | None) -> bool:
    return since_id is not None and any(order(found) <= order(since_id) for found in _ids([status]))


def _ids(statuses: list[Answer]) -> list[str]:
    """Return the ids of those that have one; the others are told of when they are stored."""
    found = (status.get("id") for status in statuses)
    return [status_id for status_id in found if isinstance(status_id, str) and status_id]


def _found(timeline: Timeline, statuses: list[Answer], *, is_all: bool) -> Found:
    warnings = []
    if timeline.since_id is not None and not is_all:
        warnings.append(
            f"more than {timeline.limit} statuses may have come since the last run, and only the newest "
            f"were read; raise limit, or run the agent more often"
        )
    return Found(
        timeline=timeline.key,
        instance=timeline.instance,
        newest_id=max([*_ids(statuses), *filter(None, [timeline.since_id])], key=order, default=None),
        statuses=tuple(statuses),
        warnings=tuple(warnings),
    )
