"""The warnings about pages that a crawl has read: JSON in the message of each page's row."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from agentic.core.pipeline.crawl.store import CountedWarning, PageWarning
from agentic.mappers.content import clean_text
from agentic.mappers.tables.core import FrontierModel, FrontierState

AT_ONCE = 1_000
"""Rows in memory while warnings are counted: each page of a large crawl may have some."""


def dump_warnings(warnings: Iterable[PageWarning]) -> str:
    """Return the warnings about one page as text."""
    return json.dumps([[one.subject, clean_text(one.sentence)] for one in warnings], ensure_ascii=False)


def sentences_in(message: str | None) -> list[str]:
    """Return the warnings about a page that was read, from the message of its row."""
    return [sentence for _, sentence in json.loads(message or "[]")]


def counted_warnings(session: Session, project_id: str, run: str) -> list[CountedWarning]:
    """Return the warnings of a crawl by subject, in the order its pages were found."""
    query = (
        select(FrontierModel.message)
        .where(
            FrontierModel.project_id == project_id,
            FrontierModel.run == run,
            FrontierModel.state == FrontierState.DONE,
            FrontierModel.message.is_not(None),
        )
        .order_by(FrontierModel.id)
    )
    counts: dict[str, int] = {}
    examples: dict[str, str] = {}
    for text in session.scalars(query.execution_options(yield_per=AT_ONCE)):
        for subject, sentence in json.loads(text or "[]"):
            counts[subject] = counts.get(subject, 0) + 1
            examples.setdefault(subject, sentence)
    return [
        CountedWarning(subject=subject, count=count, example=examples[subject])
        for subject, count in counts.items()
    ]
