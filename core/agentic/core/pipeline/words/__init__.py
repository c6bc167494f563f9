"""Pipelines that are built with words: a model names the data and picks among numbered places.

It is asked while a pipeline is built, never when it runs, and it writes no selector.
"""

from agentic.core.pipeline.words.conversing import MAX_CALLS, MAX_TOKENS, Conversation, ModelQuestion
from agentic.core.pipeline.words.errors import (
    ModelLimitError,
    NothingFitsError,
    UnusableAnswerError,
    WordsError,
    WordsTooLongError,
)
from agentic.core.pipeline.words.filtering import NotApplied, filters_of
from agentic.core.pipeline.words.inferring import InferredIntent, WordsSite, infer_intent
from agentic.core.pipeline.words.picking import OfferedPlace, OfferedRecord, Picks, pick
from agentic.core.pipeline.words.wanted import WantedData, WantedField, WantedFilter, infer_wanted

__all__ = [
    "MAX_CALLS",
    "MAX_TOKENS",
    "Conversation",
    "InferredIntent",
    "ModelLimitError",
    "ModelQuestion",
    "NotApplied",
    "NothingFitsError",
    "OfferedPlace",
    "OfferedRecord",
    "Picks",
    "UnusableAnswerError",
    "WantedData",
    "WantedField",
    "WantedFilter",
    "WordsError",
    "WordsSite",
    "WordsTooLongError",
    "filters_of",
    "infer_intent",
    "infer_wanted",
    "pick",
]
