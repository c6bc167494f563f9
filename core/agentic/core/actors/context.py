"""The services of a run for an actor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import TYPE_CHECKING

from agentic.core.actors.errors import ActorError
from agentic.core.actors.model_use import ModelUse
from agentic.core.actors.ports import FileStore, ProjectMemory, SecretStore, SessionStore
from agentic.core.actors.stores import MemoryOfProcess, MemorySessions, NoFiles, NoSecrets
from agentic.core.llm.budget import BudgetStore, MemoryBudgetStore
from agentic.core.llm.open_models import OpenModels
from agentic.core.records import record
from agentic.core.types import JSONValue

if TYPE_CHECKING:  # to read a pipeline takes no fetcher
    from agentic.core.audit import Decision
    from agentic.core.browser import BrowserFetcher
    from agentic.core.http import Fetcher, HttpSession


Once = Callable[[str, Callable[[], Awaitable[JSONValue]]], Awaitable[JSONValue]]
"""Runs a function under a name, once per call of an actor."""


async def do_now(name: str, work: Callable[[], Awaitable[JSONValue]]) -> JSONValue:  # noqa: ARG001 - as declared
    """Do it, and remember nothing."""
    return await work()


Decide = Callable[["Decision"], Awaitable[None]]
"""Records a decision."""


async def decide_unseen(decision: Decision) -> None:
    """Record nothing."""


Patient = Callable[[str, Callable[[], Awaitable[None]]], Awaitable[None]]
"""Does a part of an actor's work, named by its URL, again after a temporary failure."""


async def try_once(subject: str, work: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG001 - as declared
    """Do it once."""
    await work()


def ignore_part(url: str, exc: Exception) -> None:
    """Ignore a part that failed: the result of the actor reports it."""


def ignore_warning(sentence: str) -> None:
    """Ignore a warning: with many pages, one warning says nothing about the run."""


def ignore_use(use: ModelUse) -> None:
    """Ignore the use of a model."""


Tally = Callable[[str, str], object]
"""Takes a subject and a warning about it: warnings about one subject are counted."""


@record(kw_only=True)
class ActorContext:
    """The services of a run for an actor.

    Attributes:
        http: Fetches under the run's policy: robots.txt, rate limit and address guard included.
        pages: Renders pages in a browser under the same policy; None without a browser.
        secrets: Of the project.
        sessions: Of the project.
        memory: Of the project.
        files: Of the project.
        models: The language models that are open.
        budgets: The accounts of budgets of models, shared by all workers of the project.
        used: Takes the use of models by this call, reply by reply.
        call: Identifies this call of the actor; a call that is repeated after its process died has the same
            name.
        is_rerun: A rule repeats this call because its earlier result was refused.
        once: ``await ctx.once("job", start)`` calls ``start`` and remembers its result: a repeated call
            gets that result instead.
        warn: Takes a sentence about something that a successful call did not find: ``"'div.x' fits nothing on
            http://..."``. A run with a warning and without items has failed.
        tally: Counts warnings that many pages may cause: see :meth:`warn_about`; None: counts none.
        decide: Records, for the audit, the decisions of rules about the failures of a call.
        retry: Does a part of the work; after a temporary failure, again by the rules of the pipeline.
        part_failed: Takes the URL and the error of a part that failed for good, while the call continues.
    """

    http: Fetcher
    pages: BrowserFetcher | None = None
    secrets: SecretStore = field(default_factory=NoSecrets)
    sessions: SessionStore = field(default_factory=MemorySessions)
    memory: ProjectMemory = field(default_factory=MemoryOfProcess)
    files: FileStore = field(default_factory=NoFiles)
    models: OpenModels = field(default_factory=OpenModels)
    budgets: BudgetStore = field(default_factory=MemoryBudgetStore)
    used: Callable[[ModelUse], object] = ignore_use
    call: str = ""
    is_rerun: bool = False
    once: Once = do_now
    decide: Decide = decide_unseen
    warn: Callable[[str], object] = ignore_warning
    retry: Patient = try_once
    part_failed: Callable[[str, Exception], object] = ignore_part
    tally: Tally | None = None

    def warn_about(self, subject: str, sentence: str) -> None:
        """Warn about a part of a result, such as a field: a run shows one warning for each subject.

        Args:
            subject: The same for each page: ``"field 'price'"``.
            sentence: What happened on this page. The first one becomes the example.
        """
        if self.tally is not None:
            self.tally(subject, sentence)
        else:
            self.warn(sentence)

    def for_call(self, call: str, *, tally: Tally | None = None) -> ActorContext:
        """Return the same for another call: ``dataclasses.replace`` in a tenth of the time."""
        return ActorContext(
            http=self.http,
            pages=self.pages,
            secrets=self.secrets,
            sessions=self.sessions,
            memory=self.memory,
            files=self.files,
            models=self.models,
            budgets=self.budgets,
            used=self.used,
            call=call,
            is_rerun=self.is_rerun,
            once=self.once,
            decide=self.decide,
            warn=self.warn,
            retry=self.retry,
            part_failed=self.part_failed,
            tally=tally or self.tally,
        )

    def browser(self) -> BrowserFetcher:
        """Return the renderer of pages.

        Raises:
            ActorError: No browser is available here (``browser_crashed``).
        """
        if self.pages is None:
            raise ActorError(
                "no browser is available; run `pip install 'agentic-pipelines[browser]'` and install "
                "chromium-headless-shell, or use mode: http",
                failure_class="browser_crashed",
            )
        return self.pages

    async def session(self, name: str | None) -> HttpSession | None:
        """Return the session of that name; None for no name.

        Raises:
            ActorError: It does not exist (``auth_required``).
        """
        if name is None:
            return None
        found = await self.sessions.load(name)
        if found is None:
            raise ActorError(
                f"session {name!r} does not exist; put an `authenticate` step first",
                failure_class="auth_required",
            )
        return found
