"""Pipelines that are built with words: a model names the data and picks among numbered places.

It is asked while a pipeline is built, never when it runs, and it writes no selector.
"""

from agentic.core.pipeline.intent_inference.conversing import MAX_CALLS, MAX_TOKENS
from agentic.core.pipeline.intent_inference.errors import (
    FieldNotOnPageError,
    ModelLimitError,
    NothingFitsError,
    UnusableAnswerError,
    WordsError,
    WordsTooLongError,
)
from agentic.core.pipeline.intent_inference.filtering import NotApplied
from agentic.core.pipeline.intent_inference.inferring import InferredIntent, WordsSite, infer_intent

__all__ = [
    "MAX_CALLS",
    "MAX_TOKENS",
    "FieldNotOnPageError",
    "InferredIntent",
    "ModelLimitError",
    "NotApplied",
    "NothingFitsError",
    "UnusableAnswerError",
    "WordsError",
    "WordsSite",
    "WordsTooLongError",
    "infer_intent",
]
