"""Profiles of healthy pages in SQL: learnt in the transaction that ends an execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import ValidationError
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from agentic.core.pipeline.drift.crawls import load_crawl_watch
from agentic.core.pipeline.drift.profiles import KindProfile, inherited, learnt
from agentic.core.pipeline.drift.sights import kind_of, marks_of
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.mappers.content import clean_text
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.tables.columns import utc_now
from agentic.mappers.tables.core import CrawlModel, CrawlProfileModel, ExecutionModel

_KEY = ("project_id", "agent_id", "kind")

KEPT_KINDS = 100
"""Kinds of an agent that are remembered: each changed rule makes a new one."""


def load_profiles(
    session: Session,
    project_id: str,
    agent_id: str,
    rules: Sequence[DetailRules] = (),
    in_effect: Sequence[DetailRules] = (),
) -> Mapping[str, KindProfile]:
    """Return the profiles of an agent's pages, by their kind.

    Args:
        session: To read with.
        project_id: Owns the agent.
        agent_id: Has learnt the profiles.
        rules: Its present rules, references included. One without a profile begins with the fields that it
            has in common with another rule of the agent.
        in_effect: These rules with the accepted repairs, in the same order.
    """
    row = CrawlProfileModel
    query = (
        select(row.kind, row.profile)
        .where(row.project_id == project_id, row.agent_id == agent_id)
        .order_by(row.updated_at.desc(), row.kind)
    )
    found = {kind: profile for kind, text in session.execute(query) if (profile := _read(text)) is not None}
    begun = {
        key: inherited(marks_of(now), found.values(), marks_of(rule))
        for rule, now in zip(rules, in_effect or rules, strict=True)
        if (key := kind_of(rule).key) not in found
    }
    return {**found, **{key: profile for key, profile in begun.items() if profile.pages}}


def learn_profiles(
    session: Session,
    execution: ExecutionModel,
    rules: Sequence[DetailRules] = (),
    in_effect: Sequence[DetailRules] = (),
) -> None:
    """Add the pages of an execution to the profiles of its agent; a second call replaces the first.

    Kinds with an incident that was not accepted are left out.

    Args:
        session: In the transaction that ends the execution.
        execution: It has ended well, wholly or in part.
        rules: The present rules of its agent, references included.
        in_effect: These rules with the accepted repairs, in the same order. A rule that is later written as
            one of them begins with its profile.
    """
    crawl = session.get(CrawlModel, (execution.project_id, execution.id))
    if crawl is None or crawl.watch is None:
        return
    known = load_profiles(session, execution.project_id, execution.agent_id, rules, in_effect)
    marks = {kind_of(rule).key: marks_of(now) for rule, now in zip(rules, in_effect or rules, strict=True)}
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    insert = insert_into(CrawlProfileModel, is_postgresql=is_postgresql)
    # In one order, so that two executions that end at the same time wait in turn.
    summaries = load_crawl_watch(crawl.watch).summaries()
    for kind, summary in sorted(summaries.items()):
        profile = learnt(known.get(kind, KindProfile()), execution.id, summary, marks.get(kind))
        learned = {"profile": clean_text(profile.model_dump_json()), "updated_at": utc_now()}
        row = {"project_id": execution.project_id, "agent_id": execution.agent_id, "kind": kind, **learned}
        # Another execution of the agent may end at the same time: the later one counts.
        session.execute(insert.values(**row).on_conflict_do_update(index_elements=_KEY, set_=learned))
    if len(known) + len(summaries) > KEPT_KINDS:
        _forget_oldest(session, execution)


def _read(text: str) -> KindProfile | None:
    """Return a profile; None for one of another release, so that the crawl learns again."""
    try:
        return KindProfile.model_validate_json(text)
    except ValidationError:
        return None


def _forget_oldest(session: Session, execution: ExecutionModel) -> None:
    row = CrawlProfileModel
    mine = (row.project_id == execution.project_id, row.agent_id == execution.agent_id)
    newest = select(row.kind).where(*mine).order_by(row.updated_at.desc(), row.kind).limit(KEPT_KINDS)
    kept = set(session.scalars(newest))
    if len(kept) == KEPT_KINDS:
        session.execute(delete(row).where(*mine, row.kind.not_in(kept)))
