"""What was read to rows of ``reddit_*``, in a real database: on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import pytest
from sqlalchemy import select
from tests.databases import only_postgresql

from agentic.core.hooks import get_registry
from agentic.core.types import SaveCounts
from agentic.executors.testing import MapperContract, MapperSamples
from agentic.mappers import (
    AgentModel,
    AgentResultModel,
    Database,
    MetricSnapshotModel,
    ResultMapper,
    add_project,
    create_execution,
    get_result_mapper,
)
from agentic.migrations.drift import differences
from agentic.plugins.reddit.models import RedditCommentModel, RedditPostModel, RedditSubredditModel

if TYPE_CHECKING:
    from tests.conftest import Eventually
    from tests.integration.plugins.reddit.conftest import MakeAgent
    from tests.postgres import PostgresServer

    Save = Callable[..., ResultMapper]

pytestmark = pytest.mark.integration

ModelT = TypeVar("ModelT", RedditPostModel, RedditCommentModel, RedditSubredditModel)
Item = dict[str, object]

FIRST, SECOND, THIRD = (f"2026-01-0{day}T09:00:00+00:00" for day in (1, 2, 3))
CREATED = datetime(2025, 12, 31, tzinfo=UTC)
POST: Item = {
    "id": "abc",
    "name": "t3_abc",
    "subreddit": "harbor",
    "author": "ada",
    "author_fullname": "t2_a",
    "title": "Ships",
    "selftext": "sail",
    "score": 12,
    "num_comments": 3,
    "edited": False,
    "created_utc": CREATED.timestamp(),
    "new_field": [1],
}
COMMENT: Item = {
    "name": "t1_c",
    "link_id": "t3_abc",
    "parent_id": "t3_abc",
    "author": "grace",
    "body": "Aye",
    "score": 2,
    "created_utc": CREATED.timestamp(),
}
SUBREDDIT: Item = {"name": "t5_h", "display_name": "harbor", "subscribers": 100, "accounts_active": 4}


WHOLE: Item = {
    "source_mode": "oauth",
    "read_at": FIRST,
    "posts": [POST],
    "comments": [COMMENT],
    "subreddits": [SUBREDDIT],
}


@pytest.mark.requirement("PL14", "PL21", "PL28", "PL30")
class TestMapper(MapperContract):
    platform = "reddit"
    samples = MapperSamples(
        results=WHOLE,
        row_count=3,
        shorter={
            "read_at": SECOND,
            "posts": [{"name": "t3_abc"}],
            "comments": [{"name": "t1_c"}],
            "subreddits": [{"name": "t5_h", "display_name": "harbor"}],
        },
        with_a_bad_one={**WHOLE, "posts": [{"title": "no id"}, POST]},
        with_no_json={**WHOLE, "comments": [{**COMMENT, "odd": float("nan")}]},
    )


@pytest.fixture
def save(database: Database) -> Save:
    """Store results as an execution of its own; return the mapper that did."""

    def run(agent: AgentModel, read_at: str = FIRST, mode: str = "oauth", **found: object) -> ResultMapper:
        with database.joined() as session:
            execution = create_execution(session, agent)
            session.commit()
            mapper = get_result_mapper("reddit", session, execution.id, agent)
            assert mapper.save_results({"source_mode": mode, "read_at": read_at, **found})
        return mapper

    return run


def rows(database: Database, model: type[ModelT]) -> list[ModelT]:
    with database.reading() as session:
        return list(session.scalars(select(model).order_by(model.id)))


@pytest.mark.requirement("PL14", "PL21", "PL28")
def test_saving_twice_leaves_one_row_of_each_and_counts_them_as_unchanged(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    found = {"posts": [POST], "comments": [COMMENT], "subreddits": [SUBREDDIT]}
    assert save(agent, **found).counts == SaveCounts(inserted=3)
    assert save(agent, SECOND, **found).counts == SaveCounts(unchanged=3)
    (post,), (comment,) = rows(database, RedditPostModel), rows(database, RedditCommentModel)
    (subreddit,) = rows(database, RedditSubredditModel)
    assert (post.id, post.score, post.created_at, post.source_mode) == ("t3_abc", 12, CREATED, "oauth")
    assert (comment.post_id, comment.parent_id, comment.body) == ("t3_abc", "t3_abc", "Aye")
    assert (subreddit.name, subreddit.subscribers, subreddit.active_users) == ("harbor", 100, 4)
    assert post.raw == POST


@pytest.mark.parametrize(
    "gone",
    [
        {"selftext": "[deleted]", "author": "[deleted]"},
        {"selftext": "[removed]", "removed_by_category": "moderator"},
        {"selftext": "", "title": "[deleted by user]", "author": "[deleted]"},
        {"selftext": "[ Removed by Reddit ]", "title": "[ Removed by Reddit ]"},
    ],
)
def test_a_post_that_is_gone_keeps_its_words_and_says_since_when(
    database: Database, make_agent: MakeAgent, save: Save, gone: Item
) -> None:
    agent = make_agent()
    save(agent, posts=[POST])
    assert save(agent, SECOND, posts=[{**POST, **gone}]).counts == SaveCounts(updated=1)
    # Seen again later, it is not gone anew.
    assert save(agent, THIRD, posts=[{**POST, **gone}]).counts == SaveCounts(unchanged=1)
    (row,) = rows(database, RedditPostModel)
    assert (row.title, row.selftext, row.author) == ("Ships", "sail", "ada")
    assert row.deleted_at == datetime.fromisoformat(SECOND)


@pytest.mark.parametrize("word", ["[deleted]", "[removed]"])
def test_a_comment_that_is_gone_keeps_its_words_and_says_since_when(
    database: Database, make_agent: MakeAgent, save: Save, word: str
) -> None:
    agent = make_agent()
    save(agent, comments=[COMMENT])
    save(agent, SECOND, comments=[{**COMMENT, "body": word, "author": "[deleted]"}])
    save(agent, THIRD, comments=[{**COMMENT, "body": word, "author": "[deleted]"}])
    (row,) = rows(database, RedditCommentModel)
    assert (row.body, row.author, row.deleted_at) == ("Aye", "grace", datetime.fromisoformat(SECOND))


def test_what_is_there_again_is_not_gone_any_more_unless_an_archive_says_so(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    removed = {**POST, "selftext": "[removed]", "removed_by_category": "automod_filtered"}
    save(agent, posts=[removed], comments=[{**COMMENT, "body": "[removed]"}])
    save(agent, SECOND, "archive", posts=[POST], comments=[COMMENT])
    (post,), (comment,) = rows(database, RedditPostModel), rows(database, RedditCommentModel)
    assert (post.selftext, post.deleted_at) == ("sail", datetime.fromisoformat(FIRST))
    assert comment.deleted_at == datetime.fromisoformat(FIRST)
    assert save(agent, THIRD, posts=[POST], comments=[COMMENT]).counts == SaveCounts(updated=2)
    (post,), (comment,) = rows(database, RedditPostModel), rows(database, RedditCommentModel)
    assert (post.selftext, post.deleted_at, post.removed_by) == ("sail", None, None)
    assert (comment.body, comment.deleted_at) == ("Aye", None)


def test_what_a_source_leaves_out_erases_nothing(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, posts=[POST], comments=[COMMENT])
    bare = {"name": "t3_abc", "title": "Ships", "author": "[deleted]"}
    assert save(agent, SECOND, "feed", posts=[bare]).counts == SaveCounts(unchanged=1)
    save(agent, SECOND, comments=[{"name": "t1_c", "body": "Aye", "score": 1, "score_hidden": True}])
    (post,), (comment,) = rows(database, RedditPostModel), rows(database, RedditCommentModel)
    assert (post.score, post.num_comments, post.author, post.selftext) == (12, 3, "ada", "sail")
    assert (comment.score, comment.post_id) == (2, "t3_abc")


@pytest.mark.parametrize("mode", ["oauth", "archive"])
def test_what_a_source_says_is_not_there_any_more_is_gone(
    database: Database, make_agent: MakeAgent, save: Save, mode: str
) -> None:
    agent = make_agent()
    marked = {"link_flair_text": "News", "distinguished": "moderator"}
    described = {"title": "Harbour", "public_description": "Of ships", "description": "# Ships"}
    save(agent, mode=mode, posts=[{**POST, **marked}], subreddits=[{**SUBREDDIT, **described}])
    bare = {**POST, "link_flair_text": None, "distinguished": None, "selftext": ""}
    emptied = {**SUBREDDIT, "title": "", "public_description": "", "description": None}
    assert save(agent, SECOND, mode, posts=[bare], subreddits=[emptied]).counts == SaveCounts(updated=2)
    (post,), (subreddit,) = rows(database, RedditPostModel), rows(database, RedditSubredditModel)
    assert (post.flair, post.distinguished, post.selftext) == (None, None, None)
    assert (post.title, post.author, post.deleted_at) == ("Ships", "ada", None)
    assert (subreddit.title, subreddit.public_description, subreddit.description) == (None, None, None)


def test_edited_is_a_time_or_nothing(database: Database, make_agent: MakeAgent, save: Save) -> None:
    at = CREATED.timestamp()
    given = {"t3_a": False, "t3_b": True, "t3_c": at, "t3_d": None}
    save(make_agent(), posts=[{"name": name, "edited": edited} for name, edited in given.items()])
    assert [row.edited_at for row in rows(database, RedditPostModel)] == [None, None, CREATED, None]


@pytest.mark.parametrize(
    ("mode", "read_at", "number", "stored"),
    [
        ("archive", "2026-01-01T11:59:00+00:00", 1, None),
        ("archive", "2026-01-01T11:59:00+00:00", 0, None),
        ("archive", "2026-01-01T11:59:00+00:00", 2, 2),
        ("archive", "2026-01-01T12:00:00+00:00", 1, 1),
        ("oauth", "2026-01-01T11:59:00+00:00", 1, 1),
    ],
)
def test_an_archive_has_no_score_before_36_hours(
    database: Database,
    make_agent: MakeAgent,
    save: Save,
    *,
    mode: str,
    read_at: str,
    number: int,
    stored: int | None,
) -> None:
    one = {"score": number, "num_comments": number}
    save(make_agent(), read_at, mode, posts=[{**POST, **one}], comments=[{**COMMENT, "score": number}])
    (post,), (comment,) = rows(database, RedditPostModel), rows(database, RedditCommentModel)
    assert (post.score, post.num_comments, comment.score) == (stored, stored, stored)


def test_what_an_archive_writes_before_it_has_counted_never_replaces_a_number_that_is_known(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, posts=[POST], comments=[COMMENT])
    uncounted = {"score": 1, "num_comments": 0}
    late = save(agent, THIRD, "archive", posts=[{**POST, **uncounted}], comments=[{**COMMENT, "score": 1}])
    assert late.counts == SaveCounts(unchanged=2)
    save(agent, THIRD, "archive", posts=[{**POST, "score": 15, "num_comments": 2}])
    (post,), (comment,) = rows(database, RedditPostModel), rows(database, RedditCommentModel)
    assert (post.score, post.num_comments, comment.score) == (15, 2, 2)
    save(agent, THIRD, posts=[{**POST, **uncounted}])
    (post,) = rows(database, RedditPostModel)
    assert (post.score, post.num_comments) == (1, 0)


def test_a_way_of_reading_and_a_blurred_ratio_alone_are_no_update(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, posts=[{**POST, "upvote_ratio": 0.9}])
    again = save(agent, SECOND, "browser", posts=[{**POST, "upvote_ratio": 0.91}])
    assert again.counts == SaveCounts(unchanged=1)
    assert [(row.source_mode, row.upvote_ratio) for row in rows(database, RedditPostModel)] == [
        ("oauth", 0.91)
    ]
    assert save(agent, THIRD, posts=[{**POST, "score": 13}]).counts == SaveCounts(updated=1)


def test_a_poorer_way_of_reading_fills_what_is_not_there_and_takes_the_place_of_nothing(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    whole = {**POST, "selftext": "**sail**", "link_flair_text": None}
    save(agent, posts=[whole])
    plain = {"name": "t3_abc", "title": "Ships!", "selftext": "sail", "url": "https://ships.test"}
    assert save(agent, SECOND, "feed", posts=[plain]).counts == SaveCounts(updated=1)
    copy = {**plain, "link_flair_text": "Old", "url": "https://other.test"}
    for mode in ("feed", "browser", "archive"):
        assert save(agent, THIRD, mode, posts=[copy]).counts == SaveCounts(unchanged=1)
    (row,) = rows(database, RedditPostModel)
    assert (row.title, row.selftext, row.url, row.flair) == ("Ships", "**sail**", "https://ships.test", None)
    assert (row.source_mode, row.raw) == ("oauth", whole)


def test_a_better_way_of_reading_takes_the_place_of_a_poorer_one(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, mode="feed", posts=[{"name": "t3_abc", "title": "Ships", "selftext": "sail"}])
    assert save(agent, SECOND, posts=[{**POST, "selftext": "**sail**"}]).counts == SaveCounts(updated=1)
    assert save(agent, THIRD, posts=[{**POST, "selftext": ""}]).counts == SaveCounts(updated=1)
    (row,) = rows(database, RedditPostModel)
    assert (row.selftext, row.source_mode) == (None, "oauth")


def test_a_poorer_way_of_reading_still_tells_numbers_and_what_is_gone(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, posts=[POST])
    gone = {**POST, "selftext": "[removed]", "removed_by_category": "moderator", "score": 15}
    save(agent, SECOND, "archive", posts=[gone])
    (row,) = rows(database, RedditPostModel)
    assert (row.deleted_at, row.removed_by) == (datetime.fromisoformat(SECOND), "moderator")
    assert (row.selftext, row.score) == ("sail", 15)
    save(agent, THIRD, "browser", posts=[{"name": "t3_abc", "score": 16}])
    (row,) = rows(database, RedditPostModel)
    assert (row.deleted_at, row.removed_by, row.score) == (
        datetime.fromisoformat(SECOND),
        "moderator",
        16,
    )


@pytest.mark.parametrize("mode", ["feed", "browser", "archive"])
def test_a_poorer_way_of_reading_cannot_say_that_a_post_is_back(
    database: Database, make_agent: MakeAgent, save: Save, mode: str
) -> None:
    agent = make_agent()
    save(agent, posts=[{**POST, "selftext": "[removed]", "removed_by_category": "moderator"}])
    save(agent, SECOND, mode, posts=[{"name": "t3_abc", "title": "Ships"}])
    (row,) = rows(database, RedditPostModel)
    assert (row.deleted_at, row.removed_by) == (datetime.fromisoformat(FIRST), "moderator")


@pytest.mark.parametrize(("mode", "is_back"), [("feed", True), ("browser", True), ("archive", False)])
def test_a_way_of_reading_that_is_no_poorer_says_that_a_post_is_back(
    database: Database, make_agent: MakeAgent, save: Save, mode: str, *, is_back: bool
) -> None:
    agent = make_agent()
    save(agent, mode="feed", posts=[{"name": "t3_abc", "title": "[deleted by user]"}])
    save(agent, SECOND, mode, posts=[{"name": "t3_abc", "title": "Ships"}])
    (row,) = rows(database, RedditPostModel)
    assert (row.deleted_at is None) == is_back


@pytest.mark.parametrize(
    ("mode", "seen"), [("oauth", {"score": 3}), ("browser", {"body": "Aye"}), ("feed", {"body": "Aye"})]
)
def test_a_comment_is_back_only_with_its_words_and_as_its_site_tells(
    database: Database, make_agent: MakeAgent, save: Save, mode: str, seen: Item
) -> None:
    agent = make_agent()
    save(agent, comments=[{**COMMENT, "body": "[removed]"}])
    save(agent, SECOND, mode, comments=[{"name": "t1_c", **seen}])
    (row,) = rows(database, RedditCommentModel)
    assert row.deleted_at == datetime.fromisoformat(FIRST)


def test_how_scores_and_numbers_of_comments_went_is_kept(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, posts=[POST], comments=[COMMENT], subreddits=[SUBREDDIT])
    save(agent, SECOND, posts=[{**POST, "score": 20, "num_comments": 5}], comments=[COMMENT])
    with database.reading() as session:
        query = select(MetricSnapshotModel).order_by(MetricSnapshotModel.observed_at)
        kept = [(row.natural_key, row.score, row.comments) for row in session.scalars(query)]
    assert sorted(kept[:3]) == [("t1_c", 2, None), ("t3_abc", 12, 3), ("t5_h", None, None)]
    assert kept[3:] == [("t3_abc", 20, 5)]


def test_bare_things_of_an_archive_are_known_by_their_ids_and_inbox_comments_by_their_context(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    bare = {"id": "abc", "title": "Ships"}
    inbox = {"name": "t1_i", "body": "Hi", "context": "/r/harbor/comments/abc/ships/i/?context=3"}
    save(make_agent(), posts=[bare], comments=[{"id": "z", "body": "x"}, inbox])
    assert [row.id for row in rows(database, RedditPostModel)] == ["t3_abc"]
    assert [(row.id, row.post_id) for row in rows(database, RedditCommentModel)] == [
        ("t1_i", "t3_abc"),
        ("t1_z", None),
    ]


def test_bad_things_are_warnings_with_reasons_and_the_others_are_stored(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    mapper = save(
        make_agent(),
        posts=[{"title": "no id"}, POST, {**POST, "name": "t1_abc"}, {**POST, "created_utc": 1e300}],
        comments=["nonsense", COMMENT],
        subreddits=[{"name": "t5_x"}],
        warnings=["r/vault: private"],
    )
    assert mapper.counts == SaveCounts(inserted=2, rejected=5)
    first, *others = mapper.warnings
    assert first == "r/vault: private"
    assert [warning.partition(": ")[0] for warning in others] == [
        "post 0 was rejected",
        "post 2 was rejected",
        "post 3 was rejected",
        "comment 0 was rejected",
        "subreddit 0 was rejected",
    ]


@only_postgresql
async def test_two_who_store_posts_of_which_some_are_there_again_lock_them_in_one_order(
    database: Database, make_agent: MakeAgent, save: Save, postgres: PostgresServer, eventually: Eventually
) -> None:
    agent = make_agent()
    first, last = {**POST, "name": "t3_a"}, {**POST, "name": "t3_z"}
    save(agent, posts=[first, {**last, "selftext": "[deleted]"}])
    locked = select(RedditPostModel.id).with_for_update(nowait=True)
    with database.writing() as other:
        other.execute(locked.where(RedditPostModel.id == "t3_a"))
        saving = asyncio.create_task(asyncio.to_thread(save, agent, SECOND, posts=[last, first]))
        await eventually(postgres.is_in_a_queue)
        other.execute(locked.where(RedditPostModel.id == "t3_z"))
    assert (await saving).counts == SaveCounts(updated=1, unchanged=1)


def test_two_projects_keep_a_row_each(database: Database, make_agent: MakeAgent, save: Save) -> None:
    with database.writing() as session:
        add_project(session, "other")
    save(make_agent(), posts=[POST])
    save(make_agent(project="other"), SECOND, posts=[{**POST, "selftext": "[deleted]"}])
    assert sorted(
        (row.selftext or "", row.deleted_at is None) for row in rows(database, RedditPostModel)
    ) == [
        ("", False),
        ("sail", True),
    ]


def test_an_error_is_stored_as_the_result_and_no_rows_are(database: Database, make_agent: MakeAgent) -> None:
    agent = make_agent()
    with database.joined() as session:
        execution = create_execution(session, agent)
        mapper = get_result_mapper("reddit", session, execution.id, agent)
        assert not mapper.save_results({"error": "no network"})
    with database.reading() as session:
        assert session.scalars(select(AgentResultModel.summary)).all() == [{"error": "no network"}]
    assert rows(database, RedditPostModel) == []


def test_the_migration_makes_the_tables_that_the_models_describe(database: Database) -> None:
    assert [found for found in differences(database, get_registry()) if "reddit" in str(found)] == []
