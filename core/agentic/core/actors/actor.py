"""A step that pipelines name: typed input, typed output, failures with a class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic

from pydantic import BaseModel
from typing_extensions import TypeVar

from agentic.core.actors.context import ActorContext
from agentic.core.actors.failures import OF_EVERY_ACTOR, failures_of
from agentic.core.types import JSONValue

InputT = TypeVar("InputT", bound=BaseModel, default=Any)
OutputT = TypeVar("OutputT", bound=BaseModel, default=Any)


@dataclass(frozen=True, slots=True)
class FromResults:
    """Marks an optional field of an ``Input`` that is taken from results, too: ``session`` of a login.

    ``session: Annotated[str | None, FromResults()] = None``
    """


@dataclass(frozen=True, slots=True)
class Again:
    """Returned by an actor that waits for somebody: it is to be called again, later, with the same input.

    What it waits for it began with ``ctx.once``. The next call may be made by another process.

    Attributes:
        after_s: Seconds until then.
        note: What it waits for, for people.
    """

    __wire_name__: ClassVar[str] = "agentic.core.actors.actor.Again"

    after_s: float
    note: str = ""


class Actor(ABC, Generic[InputT, OutputT]):
    """A reusable step of pipelines. Objects hold nothing of a run: one may serve several at once.

    A field of ``Input`` without a default that the step's config leaves out is taken from the newest result
    of that name, so that ``fetch`` followed by ``extract_list`` needs no wiring; so is one marked
    :class:`FromResults`, if there is such a result. The fields of ``Output`` become results under their own
    names.

    Attributes:
        name: Unique among the installed actors: ``"extract_list"``.
        version: Changes when the same input may give another output.
        aliases: Further names specs may use.
        Input: What the step's config is checked against; refuse unknown keys with ``extra="forbid"``.
        Output: What it gives; JSON-able.
        failure_classes: The classes of failures it raises itself; see :meth:`all_failure_classes`.
        capabilities: What it needs: ``network``, ``browser``, ``credentials:<platform>``.
        may_wait: Whether it may return :class:`Again`.
        has_effect: Whether a call does something that counts without any item: sends, logs in, keeps a file.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    Input: ClassVar[type[BaseModel]]
    Output: ClassVar[type[BaseModel]]
    failure_classes: ClassVar[frozenset[str]] = frozenset()
    capabilities: ClassVar[frozenset[str]] = frozenset()
    may_wait: ClassVar[bool] = False
    has_effect: ClassVar[bool] = False

    @classmethod
    def all_failure_classes(cls) -> frozenset[str]:
        """Return the classes of all failures it may end with: its own and those its capabilities bring.

        ``http_4xx`` and ``http_5xx`` stand for each refused status. Not among them is ``error``, what nobody
        has a word for, unless it is one of its own.
        """
        return cls.failure_classes | failures_of(cls.capabilities) | OF_EVERY_ACTOR

    @classmethod
    def needs(cls, config: Mapping[str, JSONValue]) -> frozenset[str]:  # noqa: ARG003 - for who overrides it
        """Return the capabilities that a step with this config needs; all of them unless overridden.

        Workers are chosen by it: a step that needs ``browser`` is for those that have one.
        """
        return cls.capabilities

    @classmethod
    def repeatable_after(cls, config: Mapping[str, JSONValue]) -> frozenset[str] | None:  # noqa: ARG003 - for who overrides it
        """Return the failure classes after which a call may be made again unasked; None, the default: any.

        Override it where a call may have had its effect although it failed, and a second one would double
        that, or cost twice: a message that was sent, a login, a service that is paid for. A rule of a
        pipeline wins over it.
        """
        return None

    @abstractmethod
    async def run(self, ctx: ActorContext, given: InputT, /) -> OutputT | Again:
        """Do the work, or say when to ask again.

        Raises:
            ActorError: It cannot be done; the failure class decides what the pipeline does about it.
        """

    async def abandon(self, ctx: ActorContext, given: InputT, /) -> None:
        """End what a call began elsewhere, as it is not called again: its run was broken off, or it given up.

        At least once, by whichever process ends the run, also when nothing was begun: ``ctx.once`` gives what
        it gave to the call, or does what it is told to if there was none. A run that is resumed later makes
        the call again, with the same ``ctx.once``. It has ten seconds.

        Raises:
            ActorError: It may go on there; the message says where, and what to do about it.
        """


class ListingActor(Actor[InputT, OutputT]):
    """An actor that lists addresses, and can give them piece by piece.

    A crawl reads sitemaps so: it has no room for a million addresses, and need not wait for the last one.
    """

    @abstractmethod
    def pieces(self, ctx: ActorContext, given: InputT, /) -> AsyncGenerator[Sequence[str], None]:
        """Return the addresses, absolute and canonical, as they are found: some thousands at a time at most.

        There is no limit on their number, and one may come again in a later piece.

        Raises:
            ActorError: As :meth:`run`.
        """
