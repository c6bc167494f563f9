"""Posts, comments and subreddits, from a seed.

There is one of each oddity, under a name of its own (:data:`HARBOR` and below).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from agentic.core.types import JSONValue
from agentic.fakes.pages import TODAY
from agentic.fakes.reddit.marking import marked_up
from agentic.fakes.words import WORDS, heading, seeded, sentence

Item = dict[str, JSONValue]

HARBOR = "harbor"
"""130 posts, including one of each of :data:`ODDITIES`, which count from the newest."""

ATTIC = "attic"
"""1,100 posts: more than a listing returns."""

PRIVATE = "vault"
QUARANTINED = "quarry"
BANNED = "banned"
CLOSED = {PRIVATE: (403, "private"), QUARANTINED: (403, "quarantined"), BANNED: (404, "banned")}
"""Status and reason of their refusal."""

COUNTS = {HARBOR: 130, ATTIC: 1_100}
ODDITIES = {
    "sticky": 3,
    "deleted": 5,
    "removed": 6,
    "ghost": 7,
    "edited": 8,
    "crosspost": 9,
    "tree": 10,
    "markup": 11,
}
TOP_COMMENTS = 150
CHAIN = 24
"""How deep one thread of the post ``tree`` goes."""

DELETED, REMOVED = "[deleted]", "[removed]"
GHOST_COMMENT, REMOVED_COMMENT, EDITED_COMMENT, HIDDEN_COMMENT = 1, 2, 3, 4
"""Places of odd comments among the first ones of the post ``tree``."""

FIRST_POST = 60_000_000_000
FIRST_COMMENT = 700_000_000_000
PLAIN_COUNT = 4
PEOPLE = 20
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(slots=True)
class Comment:
    """A comment: what the API says of it, and its replies, oldest first."""

    facts: Item
    replies: list[Comment] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Without its kind."""
        return str(self.facts["id"])

    @property
    def size(self) -> int:
        """How many comments it is together with all below it."""
        return 1 + sum(reply.size for reply in self.replies)


@dataclass(slots=True)
class Post:
    """A post: what the API says of it without addresses, and its comments, oldest first."""

    facts: Item
    comments: list[Comment] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Without its kind."""
        return str(self.facts["id"])

    @property
    def created(self) -> float:
        """Seconds since the epoch."""
        return float(str(self.facts["created_utc"]))

    @property
    def score(self) -> int:
        """Votes."""
        return int(str(self.facts["score"]))


@dataclass(slots=True)
class Subreddit:
    """A subreddit and its posts, the newest first."""

    facts: Item
    posts: list[Post] = field(default_factory=list)


@dataclass(slots=True)
class Archive:
    """All there is.

    Attributes:
        subreddits: By name in lower case.
        posts: By id without kind.
        comments: By id without kind, with the post of each.
        people: Names of users.
    """

    subreddits: dict[str, Subreddit]
    posts: dict[str, Post]
    comments: dict[str, tuple[Post, Comment]]
    people: list[str]


def build_archive(seed: int) -> Archive:
    """Return everything, the same for the same seed."""
    builder = _Builder(seeded("reddit", seed))
    names = [HARBOR, ATTIC, *CLOSED, *(WORDS[number] + "s" for number in range(PLAIN_COUNT))]
    found = [builder.subreddit(name) for name in names]
    posts = {post.id: post for subreddit in found for post in subreddit.posts}
    return Archive(
        subreddits={str(one.facts["display_name"]).lower(): one for one in found},
        posts=posts,
        comments={comment.id: (post, comment) for post in posts.values() for comment in flat(post.comments)},
        people=builder.people,
    )


def flat(comments: list[Comment]) -> list[Comment]:
    """Return comments with all below them, each before its replies."""
    found, waiting = [], comments[::-1]
    while waiting:
        comment = waiting.pop()
        found.append(comment)
        waiting += comment.replies[::-1]
    return found


def base36(number: int) -> str:
    """Return a number as Reddit writes ids."""
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = DIGITS[rest] + digits
    return digits or "0"


class _Builder:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._posts, self._comments = FIRST_POST, FIRST_COMMENT
        self.people = ["ada", *(f"{sentence(random, 1).lower()}_{number}" for number in range(PEOPLE))]

    def subreddit(self, name: str) -> Subreddit:
        random = self._random
        count = COUNTS.get(name, random.randrange(3, 20))
        number = 10_000 + sum(name.encode())
        facts: Item = {
            "id": base36(number),
            "name": f"t5_{base36(number)}",
            "display_name": name,
            "display_name_prefixed": f"r/{name}",
            "title": heading(random, 3),
            "public_description": f"{sentence(random, 8)}.",
            "description": f"# {name}\n\n{sentence(random, 20)}.",
            "subscribers": random.randrange(100, 2_000_000),
            "accounts_active": random.randrange(100),
            "over18": False,
            "quarantine": name == QUARANTINED,
            "subreddit_type": "private" if name == PRIVATE else "public",
            "lang": "en",
            "url": f"/r/{name}/",
            "created_utc": TODAY.timestamp() - 400 * 86_400,
        }
        subreddit = Subreddit(facts)
        moment = TODAY
        for place in range(count):
            moment -= timedelta(minutes=random.randrange(20, 200))
            oddity = next((one for one, at in ODDITIES.items() if at == place), "")
            post = self._post(facts, moment.timestamp(), oddity if name == HARBOR else "")
            subreddit.posts.append(post)
        return subreddit

    def _post(self, subreddit: Item, created: float, oddity: str) -> Post:
        random = self._random
        self._posts += random.randrange(1, 900)
        is_self = bool(oddity) or random.random() < 0.5
        author = random.choice(self.people)
        facts: Item = {
            "id": base36(self._posts),
            "name": f"t3_{base36(self._posts)}",
            "subreddit": subreddit["display_name"],
            "subreddit_id": subreddit["name"],
            "subreddit_name_prefixed": subreddit["display_name_prefixed"],
            "author": author,
            "author_fullname": _user_id(author),
            "title": heading(random, 5),
            "selftext": marked_up(f"{sentence(random, 20)}.") if is_self else "",
            "is_self": is_self,
            "domain": f"self.{subreddit['display_name']}" if is_self else "example.org",
            "score": random.randrange(3_000),
            "upvote_ratio": round(random.uniform(0.5, 1), 2),
            "num_comments": 0,
            "over_18": random.random() < 0.05,
            "spoiler": False,
            "stickied": oddity == "sticky",
            "locked": False,
            "is_video": False,
            "archived": False,
            "hidden": False,
            "likes": None,
            "edited": created + 600 if oddity == "edited" else False,
            "link_flair_text": random.choice(("News", "Question", None)),
            "distinguished": "moderator" if oddity == "sticky" else None,
            "removed_by_category": None,
            "created": created,
            "created_utc": created,
        }
        post = Post(facts | self._odd(oddity))
        many = oddity == "tree"
        for place in range(TOP_COMMENTS if many else random.choice((0, 0, 1, 3))):
            post.comments.append(self._comment(post, f"t3_{post.id}", 0, place if many else -1))
        if many:
            self._grow(post)
        facts["num_comments"] = sum(comment.size for comment in post.comments)
        post.facts["num_comments"] = facts["num_comments"]
        return post

    def _odd(self, oddity: str) -> Item:
        match oddity:
            case "deleted":
                return {"selftext": DELETED, "author": DELETED, "removed_by_category": "deleted"}
            case "removed":
                return {"selftext": REMOVED, "removed_by_category": "moderator"}
            case "ghost":
                return {"author": DELETED}
            case "crosspost":
                return {"crosspost_parent": f"t3_{base36(FIRST_POST - 1)}", "num_crossposts": 0}
            case "markup":
                return {"title": "Ships & <Sails>", "selftext": "5 > 3 & 2 < 4"}
            case _:
                return {}

    def _grow(self, post: Post) -> None:
        """Give some comments replies, and one of them a thread that is deeper than an answer."""
        for comment in post.comments[10::5]:
            for _ in range(self._random.randrange(1, 4)):
                comment.replies.append(self._comment(post, f"t1_{comment.id}", 1, -1))
        last = post.comments[0]
        for depth in range(1, CHAIN):
            reply = self._comment(post, f"t1_{last.id}", depth, -1)
            last.replies.append(reply)
            last = reply

    def _comment(self, post: Post, parent: str, depth: int, place: int) -> Comment:
        random = self._random
        self._comments += random.randrange(1, 90)
        author = random.choice(self.people)
        created = post.created + 60 * (place + 2) + 3_600 * depth
        facts: Item = {
            "id": base36(self._comments),
            "name": f"t1_{base36(self._comments)}",
            "link_id": f"t3_{post.id}",
            "parent_id": parent,
            "subreddit": post.facts["subreddit"],
            "subreddit_id": post.facts["subreddit_id"],
            "author": author,
            "author_fullname": _user_id(author),
            "body": f"{sentence(random, 12)}.",
            "score": random.randrange(-5, 400),
            "score_hidden": place == HIDDEN_COMMENT,
            "depth": depth,
            "is_submitter": author == post.facts["author"],
            "stickied": False,
            "distinguished": None,
            "likes": None,
            "edited": created + 60 if place == EDITED_COMMENT else False,
            "created": created,
            "created_utc": created,
        }
        if place == GHOST_COMMENT:
            facts |= {"author": DELETED, "body": DELETED}
        if place == REMOVED_COMMENT:
            facts |= {"body": REMOVED}
        if facts["author"] == DELETED:
            del facts["author_fullname"]
        return Comment(facts)


def _user_id(name: str) -> str:
    return f"t2_{base36(1_000 + sum(name.encode()))}"
