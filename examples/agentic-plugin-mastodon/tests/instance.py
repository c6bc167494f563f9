"""A small Mastodon: what it holds and how it pages follow from numbers, so that each test finds the same.

Written after https://docs.joinmastodon.org/methods; Mastodon.py reads it in ``test_instance.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from agentic.core.types import JSONValue
from agentic.fakes.control import Control

Entity = dict[str, JSONValue]
Query = Mapping[str, str]

VERSION = "4.5.1"
TOKEN = "a-token"
LARGEST_PAGE = 40
FIRST = datetime(2026, 3, 1, 10, tzinfo=UTC)
FIRST_ID = 116_000_000_000_000_000
STEP = 7_864_320_000  # a minute and two: ids begin with the milliseconds, and have 16 bits after them
ADA, BOB, EVE = "ada", "bob@other.example", "eve"
WINDOW = timedelta(minutes=5)


@dataclass(frozen=True)
class Answer:
    """What is said to one request."""

    content: JSONValue
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """A request that is not answered as wished."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.answer = Answer({"error": error}, status)


class Instance:
    """Statuses of three accounts, one of them of another instance.

    Of the numbers from 1 on, each third status is Bob's, the others are Ada's; even ones have the tag
    ``python``, each fifth is an answer to the one before, each seventh a boost of the one before, each
    eleventh only for followers. Eve says nothing.

    Args:
        count: How many statuses there are.
        is_private: Whether nobody reads without a token.
        control: Faults to inject, and what time it is.
    """

    def __init__(self, count: int = 100, *, is_private: bool = False, control: Control | None = None) -> None:
        self.control = control or Control()
        self.url = ""
        self.host = ""
        self.count = count
        self.is_private = is_private
        self.remaining = self.allowed = 300
        self.resets_at = self.control.clock.moment() + WINDOW
        self.requests: list[tuple[str, dict[str, str]]] = []

    def answer(self, path: str, query: Query, token: str | None) -> Answer:
        """Say what a request gets, and how many more of them may come."""
        self.requests.append((path, dict(query)))
        try:
            self._count()
            answer = self._answer(path, query, token)
        except Refusal as refusal:
            answer = refusal.answer
        limits = {
            "X-RateLimit-Limit": str(self.allowed),
            "X-RateLimit-Remaining": str(max(self.remaining, 0)),
            "X-RateLimit-Reset": self.resets_at.isoformat().replace("+00:00", "Z"),
        }
        return Answer(answer.content, answer.status, {**limits, **answer.headers})

    def limit(self, remaining: int, resets_in: timedelta = WINDOW) -> None:
        """Let only so many more requests through until the window ends."""
        self.remaining, self.resets_at = remaining, self.control.clock.moment() + resets_in

    def _count(self) -> None:
        if self.control.clock.moment() >= self.resets_at:
            self.limit(self.allowed)
        self.remaining -= 1
        if self.remaining < 0:
            raise Refusal(429, "Too many requests")

    def _answer(self, path: str, query: Query, token: str | None) -> Answer:
        if token not in (None, TOKEN):
            raise Refusal(401, "The access token is invalid")
        match path.strip("/").split("/"):
            case ["api", "v1" | "v2" as version, "instance"]:
                return Answer(self._about(version))
            case ["api", "v1", "timelines", "public"]:
                return self._timeline(path, query, token, lambda said: said["in_reply_to_id"] is None)
            case ["api", "v1", "timelines", "tag", tag]:
                return self._timeline(path, query, token, lambda said: tag.lower() in tags_of(said))
            case ["api", "v1", "timelines", "home"]:
                self._require(token)
                return self._page(path, query, self.statuses(), is_closed=False)
            case ["api", "v1", "accounts", "verify_credentials"]:
                self._require(token)
                return Answer({**self.account(ADA), "source": {"privacy": "public"}})
            case ["api", "v1", "accounts", "lookup"]:
                return Answer(self._known(query.get("acct", "").removesuffix(f"@{self.host}")))
            case ["api", "v1", "accounts", account_id]:
                return Answer(self.account(self._name(account_id)))
            case ["api", "v1", "accounts", account_id, "statuses"]:
                return self._said_by(self._name(account_id), path, query, token)
            case ["api", "v1", "statuses", status_id]:
                return Answer(self._status(status_id, token))
            case ["api", "v1", "statuses", status_id, "context"]:
                return Answer(self._context(self._status(status_id, token)))
            case ["api", "v2", "search"]:
                return self._search(query, token)
        raise Refusal(404, "Record not found")

    def statuses(self) -> list[Entity]:
        """Return all statuses, the newest first."""
        return [self.status(number) for number in range(self.count, 0, -1)]

    def status(self, number: int) -> Entity:
        """Return the status of a number."""
        by, status_id = BOB if number % 3 == 0 else ADA, id_of(number)
        tags = ["python"] if number % 2 == 0 else ["cooking"]
        is_answer, is_boost = number % 5 == 0, number % 7 == 0
        host = BOB.partition("@")[2] if by == BOB else self.host
        uri = f"https://{host}/users/{by.partition('@')[0]}/statuses/{status_id}"
        boosted = self.status(number - 1) if is_boost else None
        return {
            "id": status_id,
            "created_at": iso(FIRST + timedelta(minutes=2 * number)),
            "edited_at": None,
            "in_reply_to_id": id_of(number - 1) if is_answer else None,
            "in_reply_to_account_id": None,
            "sensitive": False,
            "spoiler_text": "",
            "visibility": "private" if number % 11 == 0 else "public",
            "language": "en",
            "uri": f"{uri}/activity" if is_boost else uri,
            "url": uri.replace("/users/", "/@").replace("/statuses", ""),
            "replies_count": int((number + 1) % 5 == 0),
            "reblogs_count": int((number + 1) % 7 == 0),
            "favourites_count": number % 4,
            "content": "" if is_boost else f"<p>Status {number} about {tags[0]}</p>",
            "reblog": boosted,
            "account": self.account(by),
            "media_attachments": [],
            "mentions": [],
            "tags": [] if is_boost else [{"name": tag, "url": f"{self.url}/tags/{tag}"} for tag in tags],
            "emojis": [],
            "card": None,
            "poll": None,
        }

    def account(self, acct: str) -> Entity:
        """Return an account."""
        name, _, host = acct.partition("@")
        return {
            "id": str([ADA, BOB, EVE].index(acct) + 1),
            "username": name,
            "acct": acct,
            "display_name": name.title(),
            "locked": False,
            "bot": False,
            "created_at": "2025-01-01T00:00:00.000Z",
            "note": "<p>Writes.</p>",
            "url": f"https://{host or self.host}/@{name}",
            "uri": f"https://{host or self.host}/users/{name}",
            "followers_count": 2,
            "following_count": 1,
            "statuses_count": 0 if acct == EVE else self.count // 2,
            "last_status_at": "2026-03-01",
            "emojis": [],
            "fields": [],
        }

    def _about(self, version: str) -> Entity:
        common: Entity = {"title": "A small Mastodon", "version": VERSION, "description": "", "rules": []}
        if version == "v1":
            return {**common, "uri": self.host, "stats": {"status_count": self.count}}
        return {**common, "domain": self.host, "api_versions": {"mastodon": 7}}

    def _timeline(self, path: str, query: Query, token: str | None, fits: Callable[[Entity], bool]) -> Answer:
        if self.is_private:
            self._require(token)
        found = [
            said
            for said in self._visible(token)
            if said["visibility"] == "public" and not said["reblog"] and fits(said)
        ]
        if is_set(query, "local"):
            found = [said for said in found if not _is_remote(said)]
        if is_set(query, "remote"):
            found = [said for said in found if _is_remote(said)]
        return self._page(path, query, found, is_closed=False)

    def _said_by(self, acct: str, path: str, query: Query, token: str | None) -> Answer:
        found = [said for said in self._visible(token) if said["account"] == self.account(acct)]
        if is_set(query, "exclude_replies"):
            found = [said for said in found if said["in_reply_to_id"] is None]
        if is_set(query, "exclude_reblogs"):
            found = [said for said in found if said["reblog"] is None]
        if is_set(query, "pinned"):
            found = []
        return self._page(path, query, found, is_closed=True)

    def _page(self, path: str, query: Query, found: list[Entity], *, is_closed: bool) -> Answer:
        """Return a page, and where the next ones are: that the last one is the last, only some say."""
        size = min(int(query.get("limit", 20)), LARGEST_PAGE)
        page = cut(found, query, size)
        if not page:
            return Answer([])
        kept = {name: value for name, value in query.items() if not name.endswith("_id")}
        places = {"next": {"max_id": page[-1]["id"]}, "prev": {"min_id": page[0]["id"]}}
        if is_closed and len(page) < size:
            del places["next"]
        links = [f'<{self.url}{path}?{urlencode({**kept, **to})}>; rel="{rel}"' for rel, to in places.items()]
        return Answer([*page], headers={"Link": ", ".join(links)})

    def _search(self, query: Query, token: str | None) -> Answer:
        if is_set(query, "resolve") or "offset" in query:
            self._require(token)
        wanted, size = query.get("q", "").lower().lstrip("#@"), min(int(query.get("limit", 20)), LARGEST_PAGE)
        start = int(query.get("offset", 0))
        found: dict[str, list[JSONValue]] = {
            "accounts": [self.account(acct) for acct in (ADA, BOB, EVE) if wanted in acct],
            "statuses": [said for said in self._visible(token) if token and wanted in str(said["content"])],
            "hashtags": [{"name": tag} for tag in ("cooking", "python") if wanted in tag],
        }
        kinds = {query["type"]} if "type" in query else set(found)
        return Answer({kind: found[kind][start : start + size] if kind in kinds else [] for kind in found})

    def _context(self, said: Entity) -> Entity:
        ancestors, following = [], [one for one in self.statuses() if one["in_reply_to_id"] == said["id"]]
        if said["in_reply_to_id"] is not None:
            ancestors = [one for one in self.statuses() if one["id"] == said["in_reply_to_id"]]
        return {"ancestors": [*ancestors], "descendants": [*following]}

    def _visible(self, token: str | None) -> Iterable[Entity]:
        return [said for said in self.statuses() if token or said["visibility"] == "public"]

    def _status(self, status_id: str, token: str | None) -> Entity:
        for said in self._visible(token):
            if said["id"] == status_id:
                return said
        raise Refusal(404, "Record not found")

    def _name(self, account_id: str) -> str:
        names = {str(number): acct for number, acct in enumerate((ADA, BOB, EVE), start=1)}
        if account_id not in names:
            raise Refusal(404, "Record not found")
        return names[account_id]

    def _known(self, acct: str) -> Entity:
        if acct not in (ADA, BOB, EVE):
            raise Refusal(404, "Record not found")
        return self.account(acct)

    def _require(self, token: str | None) -> None:
        if token is None:
            raise Refusal(401, "The access token is invalid")


def cut(found: list[Entity], query: Query, size: int) -> list[Entity]:
    """Return a page, the newest first: after ``min_id`` the oldest ones, else the newest."""
    older_than, newer_than = query.get("max_id"), query.get("min_id", query.get("since_id"))
    fitting = [
        said
        for said in found
        if (older_than is None or int(str(said["id"])) < int(older_than))
        and (newer_than is None or int(str(said["id"])) > int(newer_than))
    ]
    return fitting[-size:] if "min_id" in query else fitting[:size]


def id_of(number: int) -> str:
    """Return the id of a status; those of newer ones are greater."""
    return str(FIRST_ID + STEP * number)


def tags_of(said: Entity) -> list[str]:
    """Return the names of a status's tags."""
    tags = said["tags"]
    return [str(tag["name"]) for tag in tags if isinstance(tag, dict)] if isinstance(tags, list) else []


def iso(moment: datetime) -> str:
    """Return a moment as Mastodon writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def is_set(query: Query, name: str) -> bool:
    """Tell whether a flag is set, in any of the ways that Rails takes for it."""
    return query.get(name, "").lower() in ("1", "true", "t", "on")


def _is_remote(said: Entity) -> bool:
    account = said["account"]
    return isinstance(account, dict) and "@" in str(account["acct"])
