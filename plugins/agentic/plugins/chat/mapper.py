"""Stores turns as rows of ``chat_turns``."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.mappers import ResultMapper
from agentic.plugins.chat.models import ChatTurnModel
from agentic.plugins.chat.turns import ChatTurn


class ChatResultMapper(ResultMapper):
    """Upserts turns by thread and turn."""

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store the turn."""
        if not self.save_agent_result(results):
            return False
        self.save_turn(ChatTurn.model_validate(dict(results)))
        return True

    def save_turn(self, turn: ChatTurn) -> None:
        """Store a turn."""
        self.save_rows(ChatTurnModel, [turn.model_dump()])
