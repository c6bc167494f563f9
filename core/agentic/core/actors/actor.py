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
from agentic.core.old_methods import warn_of_old_method
from agentic.core.types import JSONValue

InputT = TypeVar("InputT", bound=BaseModel, default=Any)
OutputT = TypeVar("OutputT", bound=BaseModel, default=Any)


@dataclass(frozen=True, slots=True)
class FromResults:
    """Marks an optional field of an ``Input`` that results can fill, too: ``session`` of a login.

    ``session: Annotated[str | None, FromResults()] = None``
    """


@dataclass(frozen=True, slots=True)
class Again:
    """Returned by an actor that waits for a person or service: call it again later, with the same input.

    It began the awaited work with ``ctx.once``. Another process may make the next call.

    Attributes:
        after_s: Seconds until then.
        note: The reason for the wait, for people.
    """

    __wire_name__: ClassVar[str] = "agentic.core.actors.actor.Again"

    after_s: float
    note: str = ""


class Actor(ABC, Generic[InputT, OutputT]):
    """A reusable step of pipelines. Objects hold no state of a run: one may serve several at once.

    A field of ``Input`` without a default that the step's config leaves out is taken from the newest result
    of that name: ``fetch`` followed by ``extract_list`` needs no wiring. So is a field marked
    :class:`FromResults`, if there is such a result. The fields of ``Output`` become results under their own
    names.

    Attributes:
        name: Unique among the installed actors: ``"extract_list"``.
        version: Changes when the same input may give another output.
        aliases: Further names specs may use.
        Input: Validates the step's config; refuse unknown keys with ``extra="forbid"``.
        Output: Its results; JSON-able.
        failure_classes: The classes of failures it raises itself; see :meth:`all_failure_classes`.
        capabilities: Its needs: ``network``, ``browser``, ``credentials:<platform>``.
        may_wait: Whether it may return :class:`Again`.
        reads: The kinds of pages that a crawl hands to it: ``html``, ``json``, ``other``.
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
    reads: ClassVar[frozenset[str]] = frozenset({"html"})
    has_effect: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        warn_of_old_method(cls, "on_cancel", "abandon")

    @classmethod
    def all_failure_classes(cls) -> frozenset[str]:
        """Return the classes of all failures it may end with: its own and the ones of its capabilities.

        ``http_4xx`` and ``http_5xx`` stand for each refused status. ``error``, for failures without a class,
        is only included if it is one of its own.
        """
        return cls.failure_classes | failures_of(cls.capabilities) | OF_EVERY_ACTOR

    @classmethod
    def needs(cls, config: Mapping[str, JSONValue]) -> frozenset[str]:  # noqa: ARG003 - for overriding classes
        """Return the capabilities that a step with this config needs; all of them unless overridden.

        Workers are chosen by it: only workers with a browser get a step that needs ``browser``.
        """
        return cls.capabilities

    @classmethod
    def repeatable_after(cls, config: Mapping[str, JSONValue]) -> frozenset[str] | None:  # noqa: ARG003 - for overriding classes
        """Return the failure classes after which a call may be repeated without asking; None (default): any.

        Override it if a call may have had its effect although it failed, and a second call would double
        the effect, or cost twice: a sent message, a login, a paid service. A rule of a
        pipeline overrides it.
        """
        return None

    @abstractmethod
    async def run(self, ctx: ActorContext, given: InputT, /) -> OutputT | Again:
        """Do the work, or say when to call again.

        Raises:
            ActorError: It cannot be done; the failure class decides how the pipeline reacts.
        """

    async def on_cancel(self, ctx: ActorContext, given: InputT, /) -> None:
        """End external work of a call that is not called again: its run was cancelled, or the call failed.

        Called at least once, by the process that ends the run, even if nothing was begun. ``ctx.once`` gives
        the value of the call, or else runs its function. A run that is resumed later makes
        the call again, with the same ``ctx.once``. It has ten seconds.

        Raises:
            ActorError: The work may continue; the message says where, and what to do about it.
        """

    async def abandon(self, ctx: ActorContext, given: InputT, /) -> None:
        """Do as :meth:`on_cancel`: its old name, which works until the next release."""
        await self.on_cancel(ctx, given)


class ListingActor(Actor[InputT, OutputT]):
    """An actor that lists addresses, and can return them piece by piece.

    Crawls read sitemaps in pieces: they have no room for a million addresses, and need not wait for the last.
    """

    @abstractmethod
    def pieces(self, ctx: ActorContext, given: InputT, /) -> AsyncGenerator[Sequence[str], None]:
        """Return the addresses, absolute and canonical, piece by piece: at most a few thousand at a time.

        Their number has no limit, and one may appear again in a later piece.

        Raises:
            ActorError: See :meth:`run`.
        """
