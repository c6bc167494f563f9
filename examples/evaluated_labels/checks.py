# checks.py
"""An evaluator: a function that takes an answer and returns a bool, a number, or an EvalScore."""

from agentic.core.evals import EvalAnswer

LABELS = ("light", "food", "furniture")


def known(given: EvalAnswer) -> bool:
    """Whether the answer is one of the labels."""
    return given.answer in LABELS
