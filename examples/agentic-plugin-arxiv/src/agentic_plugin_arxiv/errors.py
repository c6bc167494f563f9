"""What can go wrong between us and arXiv, besides the transport."""

from __future__ import annotations

from agentic.core.errors import AgenticError
from agentic.core.http import FailureClass


class ArxivError(AgenticError):
    """Something about arXiv."""

    is_retriable = False


class SearchRefusedError(ArxivError, ValueError):
    """ArXiv says what is wrong with the search, with an answer in place of papers."""

    def __init__(self, said: str) -> None:
        super().__init__(f"arXiv refuses the search: {said}; correct the agent's query")
        self.said = said


class EmptyPageError(ArxivError):
    """A page had no papers, although arXiv counts more: it is busy, and may have them a little later."""

    is_retriable = True
    failure_class = FailureClass.EMPTY.value

    def __init__(self, start: int, total: int) -> None:
        super().__init__(
            f"arXiv counts {total} results and gave none from number {start + 1} on; run the agent again "
            "later"
        )
        self.start = start
        self.total = total
