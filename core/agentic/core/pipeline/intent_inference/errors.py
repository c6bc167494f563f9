"""Failures of pipelines that are built with words."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.actors import PipelineError


class WordsError(PipelineError):
    """No pipeline can be built with these words."""


class WordsTooLongError(WordsError, ValueError):
    """The words are more than a model is asked about."""

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(
            f"the words have {count:,} characters, and {limit:,} are allowed; name the records, their fields "
            "and conditions, and nothing else"
        )
        self.count = count
        self.limit = limit


class UnusableAnswerError(WordsError, ValueError):
    """A model gave two answers that cannot be used.

    Attributes:
        model: ``provider:model``.
        fault: Of the second answer.
    """

    def __init__(self, model: str, about: str, fault: str) -> None:
        super().__init__(
            f"{model} gave no usable answer about {about}, asked twice: {fault}; use other words or another "
            "model, or give values with --example"
        )
        self.model = model
        self.fault = fault


class ModelLimitError(WordsError):
    """A further question would exceed the calls or tokens of a site; it was not asked, or ends the build.

    Attributes:
        model: ``provider:model``.
        calls: Answered so far.
        tokens: Used so far, in and out.
    """

    def __init__(self, model: str, about: str, reason: str, *, calls: int, tokens: int) -> None:
        super().__init__(
            f"{model} cannot be asked about {about}: {reason} ({calls} calls and {tokens:,} tokens used for "
            "this site); use fewer words, another model, or values with --example"
        )
        self.model = model
        self.calls = calls
        self.tokens = tokens


class NothingFitsError(WordsError, LookupError):
    """A model found no place for the words among those that the pages offer.

    Attributes:
        missing: The fields without a place; empty if no record fits.
        offered: The offered records and places, as texts.
    """

    def __init__(self, subject: str, missing: Sequence[str], offered: Sequence[str]) -> None:
        wanted = f"no place for {', '.join(missing)}" if missing else f"nothing like {subject!r}"
        among = f"among the {len(offered)} that the pages offer: {'; '.join(offered)}"
        none = "the pages offer no list, table or named value; scripts may build them"
        super().__init__(
            f"the model found {wanted} {among}; use other words, the address of another page, or values with "
            "--example"
            if offered
            else f"there is {wanted}: {none}; use the address of another page"
        )
        self.missing = tuple(missing)
        self.offered = tuple(offered)


class FieldNotOnPageError(WordsError, LookupError):
    """A field is on the first page that a pipeline was tried on, and on no record of another one.

    Attributes:
        field: Its name.
        url: The page without it.
    """

    def __init__(self, field: str, url: str, first: str) -> None:
        super().__init__(
            f"no record on {url} has {field}, which was found by the layout of {first}; leave it out of the "
            "words, or give the addresses of pages that look alike"
        )
        self.field = field
        self.url = url
