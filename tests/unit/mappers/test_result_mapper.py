from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Mapped, Session, mapped_column

from agentic.core.errors import UnknownPlatformError
from agentic.core.hooks import Platform, get_registry
from agentic.core.types import SaveCounts
from agentic.mappers import (
    AgentModel,
    AgentResultModel,
    Base,
    Database,
    ResultMapper,
    SourceColumns,
    create_execution,
    get_result_mapper,
)

NO_TEXT = {
    "sqlite": "NOT NULL constraint failed: mapper_notes.text",
    "postgresql": 'null value in column "text" of relation "mapper_notes" violates not-null constraint',
}
RESULTS = {"notes": [{"id": "n1", "text": "hello"}, {"id": "n2", "text": "bye"}], "pages": 2}


class NoteModel(SourceColumns, Base):
    __tablename__ = "mapper_notes"

    id: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str]


class NoteMapper(ResultMapper):
    """As the seed has it: general result first, then the platform's rows, then a commit."""

    def save_results(self, results: Mapping[str, object]) -> bool:
        if not self.save_agent_result(results):
            return False
        self.save_rows(NoteModel, cast("list[dict[str, object]]", results["notes"]))
        self.db_session.commit()
        return True


@pytest.fixture
def execution_id(database: Database, agent: AgentModel) -> str:
    with database.writing() as session:
        return create_execution(session, agent).id


def notes(session: Session) -> list[tuple[str, str]]:
    return [(n.project_id, n.id) for n in session.scalars(select(NoteModel).order_by(NoteModel.id))]


def results(session: Session) -> list[AgentResultModel]:
    return list(session.scalars(select(AgentResultModel)))


@pytest.mark.requirement("PL08", "PL09", "PL16")
def test_results_become_a_general_result_and_rows_of_the_platform(
    database: Database, agent: AgentModel, execution_id: str
) -> None:
    with database.joined() as session:
        mapper = NoteMapper(session, execution_id, agent)
        assert mapper.save_results(RESULTS)
    with database.reading() as session:
        assert notes(session) == [(agent.project_id, "n1"), (agent.project_id, "n2")]
        (general,) = results(session)
    assert (general.project_id, general.agent_id, general.execution_id) == (
        agent.project_id,
        agent.id,
        execution_id,
    )
    assert general.summary == {"notes_count": 2, "pages": 2}
    assert mapper.counts == SaveCounts(inserted=2)


@pytest.mark.requirement("PL28")
def test_saving_the_same_results_again_leaves_the_same_rows(
    database: Database, agent: AgentModel, execution_id: str
) -> None:
    for expected in (SaveCounts(inserted=2), SaveCounts(unchanged=2)):
        with database.joined() as session:
            mapper = NoteMapper(session, execution_id, agent)
            mapper.save_results(RESULTS)
        assert mapper.counts == expected
    with database.reading() as session:
        assert (len(notes(session)), len(results(session))) == (2, 1)


@pytest.mark.requirement("PL09")
def test_an_error_is_stored_and_stops_the_platform_part(
    database: Database, agent: AgentModel, execution_id: str
) -> None:
    with database.joined() as session:
        assert not NoteMapper(session, execution_id, agent).save_results({"error": "no network", **RESULTS})
    with database.reading() as session:
        assert notes(session) == []
        (general,) = results(session)
    assert general.summary["error"] == "no network"


def test_an_empty_error_is_none(database: Database, agent: AgentModel, execution_id: str) -> None:
    with database.joined() as session:
        assert NoteMapper(session, execution_id, agent).save_results({**RESULTS, "error": None})


@pytest.mark.requirement("PL42")
def test_rows_belong_to_the_project_of_the_agent_whatever_they_say(
    database: Database, agent: AgentModel, stranger: AgentModel, execution_id: str
) -> None:
    row = {"id": "n1", "text": "x", "project_id": stranger.project_id}
    with database.joined() as session:
        NoteMapper(session, execution_id, agent).save_results({"notes": [row]})
    with database.reading() as session:
        assert notes(session) == [(agent.project_id, "n1")]


@pytest.mark.requirement("PL30", "PL31")
def test_bad_items_and_removed_values_are_warnings(
    database: Database, agent: AgentModel, execution_id: str, backend: str
) -> None:
    bad = {"notes": [{"id": "n1"}, {"id": "n2", "text": "x"}], "client": object()}
    with database.joined() as session:
        mapper = NoteMapper(session, execution_id, agent)
        assert mapper.save_results(bad)
    assert mapper.counts == SaveCounts(inserted=1, rejected=1)
    assert mapper.warnings == [
        "the result: client was removed: a object is not JSON",
        f"mapper_notes n1 was rejected: {NO_TEXT[backend]}",
    ]


def test_the_summary_keeps_short_lists_and_cuts_long_text(
    database: Database, agent: AgentModel, execution_id: str
) -> None:
    with database.joined() as session:
        NoteMapper(session, execution_id, agent).save_agent_result(
            {"tags": ["a", "b"], "ids": list(range(21)), "inner": {"rows": [{}]}, "html": "x" * 3000}
        )
    with database.reading() as session:
        (general,) = results(session)
    html = general.summary.pop("html")
    assert general.summary == {"tags": ["a", "b"], "ids_count": 21, "inner": {"rows_count": 1}}
    assert isinstance(html, str)
    assert len(html) == 2001


@pytest.mark.requirement("PL10")
def test_the_mapper_of_a_platform_is_found_by_its_name(database: Database, agent: AgentModel) -> None:
    get_registry.cache_clear()
    get_registry().add_platform(Platform(name="mapper-notes", executor=object, mapper=NoteMapper))  # type: ignore[arg-type]
    with database.reading() as session:
        mapper = get_result_mapper("mapper-notes", session, "e1", agent)
    get_registry.cache_clear()
    assert isinstance(mapper, NoteMapper)
    assert (mapper.execution_id, mapper.agent) == ("e1", agent)


@pytest.mark.requirement("PL10")
def test_an_unknown_platform_is_a_clear_error(database: Database, agent: AgentModel) -> None:
    with database.reading() as session, pytest.raises(UnknownPlatformError, match="'nowhere'"):
        get_result_mapper("nowhere", session, "e1", agent)


class Point(BaseModel):
    at: int


@pytest.mark.requirement("PL30")
def test_entries_that_are_none_are_rejected_by_their_place_with_a_reason_that_shows_no_value(
    database: Database, agent: AgentModel, execution_id: str
) -> None:
    with database.joined() as session:
        mapper = NoteMapper(session, execution_id, agent)
        kept = list(mapper.accepted(Point, [{"at": 1}, {"at": "hidden"}, "odd", {"at": 4}], "point"))
    assert kept == [Point(at=1), Point(at=4)]
    assert mapper.counts == SaveCounts(rejected=2)
    assert mapper.warnings[0].startswith("point 1 was rejected: at: ")
    assert mapper.warnings[1].startswith("point 2 was rejected: ")
    assert "hidden" not in mapper.warnings[0]
