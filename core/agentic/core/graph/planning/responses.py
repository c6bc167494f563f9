"""Answers from people, converted for the planner."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.graph.codec.codec import Codec
from agentic.core.graph.codec.payload import make_storable_packer
from agentic.core.graph.errors import RunEndedError, UnknownRequestError
from agentic.core.graph.model.answers import coerced
from agentic.core.graph.model.progress import request_id
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.model.state import RunState
from agentic.core.graph.planning.planner import Answer
from agentic.core.records import record


@record
class Responses:
    """The answers by request id, and who gave them; not checked yet."""

    responses: Mapping[str, object]
    answered_by: str

    def checked(self, codec: Codec, state: RunState) -> dict[str, Answer | None]:
        """Return the answers by the requests' names within the run, as values of the requested types.

        Raises:
            RunEndedError: The run has completed.
            UnknownRequestError: An answer does not belong to an open request.
            AnswerError: An answer does not have the requested type.
        """
        if self.responses and state.status is RunStatus.COMPLETED:
            raise RunEndedError(state.run_id, state.status, "be answered")
        is_open = {request_id(state.run_id, asked.name): asked for asked in state.open_requests}
        answers: dict[str, Answer | None] = {}
        for given_id, response in self.responses.items():
            asked = is_open.get(given_id)
            if asked is None:
                raise UnknownRequestError(given_id, list(is_open))
            value = coerced(given_id, asked.response_type, codec.names, response)
            answers[asked.name] = Answer(make_storable_packer(codec)(value), self.answered_by)
        return answers
