"""The contract of every mapper; subclass it in a mapper's tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import pytest
from sqlalchemy import select

from agentic.core.types import JSONValue, SaveCounts
from agentic.executors.testing.mapping import OF_EACH_RUN, OF_NO_SOURCE, MappingRoom
from agentic.mappers import Database, ProjectModel, add_project


@dataclass(frozen=True, slots=True, kw_only=True)
class MapperSamples:
    """Sample results of a platform's executor.

    Attributes:
        results: Results of a successful run.
        row_count: How many rows they count as.
        shorter: The same items as in ``results``, without their optional parts.
        with_a_bad_one: ``results`` with one more item that cannot be stored.
        with_no_json: ``results`` with a value that JSON does not have, such as ``float("nan")``.
    """

    results: Mapping[str, object]
    row_count: int
    shorter: Mapping[str, object]
    with_a_bad_one: Mapping[str, object]
    with_no_json: Mapping[str, object]


class MapperContract:
    """The contract. Each test runs on SQLite, and again on PostgreSQL if there is a server.

    Attributes:
        platform: Name of the platform.
        samples: The input of its mapper.
        config: Config of the agent, for a mapper that reads it.
    """

    platform: str
    samples: MapperSamples
    config: ClassVar[Mapping[str, JSONValue]] = {}

    @pytest.fixture
    def room(self, agentic_each_database: Database) -> MappingRoom:
        """Provide two projects to store results in."""
        return MappingRoom(agentic_each_database, self.platform, self.config)

    def test_results_become_rows_and_one_short_result(self, room: MappingRoom) -> None:
        mapper = room.save(self.samples.results)

        assert mapper.counts == SaveCounts(inserted=self.samples.row_count)
        assert len(room.rows()) >= self.samples.row_count
        assert len(room.summaries()) == 1

    def test_the_same_results_again_leave_the_same_rows(self, room: MappingRoom) -> None:
        room.save(self.samples.results)
        before = room.rows(without=OF_EACH_RUN)

        again = room.save(self.samples.results)

        assert again.counts == SaveCounts(unchanged=self.samples.row_count)
        assert room.rows(without=OF_EACH_RUN) == before
        assert {row["execution_id"] for row in room.rows().values()} == {again.execution_id}

    def test_what_a_later_result_leaves_out_is_not_erased(self, room: MappingRoom) -> None:
        room.save(self.samples.results)
        room.save(self.samples.shorter, room.other)
        known, little = room.rows(without=OF_NO_SOURCE), room.rows(room.other, without=OF_NO_SOURCE)
        assert set(little) == set(known), (
            "`shorter` must contain only things that are in `results`, and all of their fields"
        )
        left_out = {
            (*key, name): value
            for key, row in known.items()
            for name, value in row.items()
            if value is not None and little[key][name] != value
        }
        assert left_out, "`shorter` must leave out something that is in `results`"

        room.save(self.samples.shorter)

        after = {(*key, name): value for key, row in room.rows().items() for name, value in row.items()}
        assert {place: after[place] for place in left_out} == left_out

    def test_what_a_later_result_does_not_mention_stays(self, room: MappingRoom) -> None:
        room.save(self.samples.results)
        known = set(room.rows())

        found = self.samples.results.items()
        room.save({name: [] if isinstance(part, list | tuple) else part for name, part in found})

        assert set(room.rows()) >= known

    def test_a_bad_one_is_a_warning_and_the_others_are_stored(self, room: MappingRoom) -> None:
        good = room.save(self.samples.results, room.other)

        mapper = room.save(self.samples.with_a_bad_one)

        assert mapper.counts == SaveCounts(inserted=self.samples.row_count, rejected=1)
        assert set(room.rows()) == set(room.rows(room.other))
        assert len(mapper.warnings) > len(good.warnings), "rejected rows, with the reason, must be a warning"

    def test_what_is_no_json_is_removed_with_a_warning(self, room: MappingRoom) -> None:
        mapper = room.save(self.samples.with_no_json)

        assert mapper.counts == SaveCounts(inserted=self.samples.row_count)
        assert any("was removed: " in sentence for sentence in mapper.warnings)
        stored = [*room.rows().values(), *room.summaries()]
        assert json.dumps(stored, default=str, allow_nan=False)

    @pytest.mark.parametrize("has_more", [False, True], ids=["alone", "with-results"])
    def test_of_a_failure_only_the_error_is_stored(self, room: MappingRoom, *, has_more: bool) -> None:
        with room.mapping() as mapper:
            failure = {**(self.samples.results if has_more else {}), "error": "no network"}
            assert not mapper.save_results(failure), "save_results must return False for a failure"

        assert mapper.counts == SaveCounts()
        assert room.rows() == {}
        assert [summary["error"] for summary in room.summaries()] == ["no network"]

    def test_rows_belong_to_the_project_of_the_agent_and_no_other_is_touched(self, room: MappingRoom) -> None:
        room.save(self.samples.results, room.other)
        theirs = room.rows(room.other)

        mapper = room.save(self.samples.results)

        assert room.rows(room.other) == theirs
        assert set(room.rows()) == set(theirs)
        owners = {(row["agent_id"], row["execution_id"]) for row in room.rows().values()}
        assert owners == {(room.agent.id, mapper.execution_id)}

    def test_its_rows_are_undone_with_the_transaction_around_it(self, room: MappingRoom) -> None:
        with suppress(InterruptedError), room.mapping() as mapper:
            mapper.save_results(self.samples.results)
            mapper.db_session.commit()  # a mapper may do this, too
            raise InterruptedError

        assert (room.rows(), room.summaries()) == ({}, [])

    def test_a_rollback_undoes_nothing_that_others_wrote(self, room: MappingRoom) -> None:
        with room.mapping() as mapper:
            add_project(mapper.db_session, "before")
            mapper.db_session.commit()
            mapper.save_results(self.samples.results)
            mapper.db_session.rollback()

        with room.database.reading() as session:
            assert "before" in session.scalars(select(ProjectModel.name)).all()
        kept = len(room.rows())
        room.save(self.samples.results, room.other)
        # A mapper that commits by itself has kept all its rows.
        assert kept in {0, len(room.rows(room.other))}
