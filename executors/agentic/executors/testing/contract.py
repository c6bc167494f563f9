"""The contract of every platform; subclass it in a platform's tests."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import ValidationError

from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue
from agentic.executors.testing.endings import EndingsContract
from agentic.executors.testing.running import RunAgent
from agentic.mappers import Database, ExecutionStatus
from agentic.migrations.drift import differences


class PlatformContract(EndingsContract):
    """The contract. A fixture ``config`` must return the config of an agent that finds ``row_count`` rows.

    Attributes:
        platform: Name of the platform.
        model: The table that its mapper fills.
        row_count: How many rows one run of ``config`` stores there.
    """

    platform: str
    model: type[object]
    row_count: int

    def test_it_is_found_with_nothing_wrong(self) -> None:
        registry = get_registry()
        assert self.platform in registry.platforms
        assert not [fault for plugin in registry.plugins.values() for fault in plugin.errors]

    def test_what_its_settings_do_not_know_is_refused(self, config: Mapping[str, JSONValue]) -> None:
        settings = get_registry().platform(self.platform).settings
        if settings is not None:
            settings.model_validate(dict(config))
            with pytest.raises(ValidationError):
                settings.model_validate({**config, "a_setting_that_nobody_knows": 1})

    def test_its_migrations_make_what_its_models_say(self, agentic_database: Database) -> None:
        assert differences(agentic_database, get_registry()) == []

    def test_a_run_stores_rows(self, config: Mapping[str, JSONValue], run_agent: RunAgent) -> None:
        ran = run_agent(self.platform, config)
        assert (ran.outcome.status, ran.outcome.error) == (ExecutionStatus.SUCCEEDED, None)
        assert len(ran.rows(self.model)) == self.row_count

    def test_a_second_run_doubles_nothing(self, config: Mapping[str, JSONValue], run_agent: RunAgent) -> None:
        run_agent(self.platform, config)
        again = run_agent(self.platform, config)
        assert again.outcome.status is ExecutionStatus.SUCCEEDED
        assert again.outcome.counts.inserted == 0
        assert len(again.rows(self.model)) == self.row_count

    def test_projects_have_rows_of_their_own(
        self, config: Mapping[str, JSONValue], run_agent: RunAgent
    ) -> None:
        one = run_agent(self.platform, config, project="one")
        other = run_agent(self.platform, config, project="other")
        assert other.outcome.counts.inserted == one.outcome.counts.inserted
        assert len(one.rows(self.model)) == len(other.rows(self.model)) == self.row_count
