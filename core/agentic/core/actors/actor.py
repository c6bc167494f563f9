"""A step that pipelines name: typed input, typed output, failures with a class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic

from pydantic import BaseModel
from typing_extensions import TypeVar

from agentic.core.http import Fetcher

InputT = TypeVar("InputT", bound=BaseModel, default=Any)
OutputT = TypeVar("OutputT", bound=BaseModel, default=Any)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorContext:
    """What an actor is given of the run around it.

    Attributes:
        http: Fetches under the run's policy: robots.txt, rate limit and address guard included.
    """

    http: Fetcher


class Actor(ABC, Generic[InputT, OutputT]):
    """A reusable step of pipelines. Objects hold nothing of a run: one may serve several at once.

    A field of ``Input`` without a default that the step's config leaves out is taken from the newest result
    of that name, so that ``fetch`` followed by ``extract_list`` needs no wiring. The fields of ``Output``
    become results under their own names.

    Attributes:
        name: Unique among the installed actors: ``"extract_list"``.
        version: Changes when the same input may give another output.
        aliases: Further names specs may use.
        Input: What the step's config is checked against; refuse unknown keys with ``extra="forbid"``.
        Output: What it gives; JSON-able.
        failure_classes: Words of its own for failures, besides ``FAILURE_CLASSES``.
        capabilities: What it needs: ``network``, ``browser``, ``credentials:<platform>``.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    Input: ClassVar[type[BaseModel]]
    Output: ClassVar[type[BaseModel]]
    failure_classes: ClassVar[frozenset[str]] = frozenset()
    capabilities: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    async def run(self, ctx: ActorContext, given: InputT, /) -> OutputT:
        """Do the work.

        Raises:
            ActorError: It cannot be done; the failure class decides what the pipeline does about it.
        """
