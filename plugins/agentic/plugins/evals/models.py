"""The table of tried cases."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Float, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.evals.cases import MAX_ID_CHARS
from agentic.core.types import JSONValue
from agentic.mappers import Base, SourceColumns
from agentic.mappers.tables.columns import ID_LENGTH

NAME_LENGTH = 200
_JSON = JSON(none_as_null=True)


class EvalCaseModel(SourceColumns, Base):
    """One try of a case in a run of an evaluation. ``first_seen_at`` is its end.

    Attributes:
        run_id: The execution.
        case_id: The case.
        repeat: Number of the try, from 1.
        evaluation: Name of the evaluation.
        task: The task in a few words.
        model: ``provider:name`` of the task's model, if it has one of its own.
        status: ``passed``, ``missed`` or ``failed``.
        score: The average of its scores; 0 if it failed.
        scores: Evaluator -> value, whether it passed, the reason, a failure class.
        failure_class: Why it failed.
        error: The same, for people.
        input: Of the case.
        expected: Of the case.
        case_metadata: Of the case.
        answer: A text, or JSON data.
        duration_s: Seconds until the answer.
        requests: Answered requests to models, by the task.
        tool_calls: Calls of tools.
        input_tokens: With the cached ones.
        output_tokens: With the tokens of thoughts.
        cached_tokens: Input tokens from the provider's prompt cache.
        cost_usd: US dollars, by the task; None if a price is not known.
        judge_tokens: Tokens of evaluators.
        judge_cost_usd: US dollars, by evaluators; None if a price is not known.
    """

    __tablename__ = "eval_cases"
    __table_args__ = (Index(None, "project_id", "evaluation", "first_seen_at"),)

    run_id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True, sort_order=80)
    case_id: Mapped[str] = mapped_column(String(MAX_ID_CHARS), primary_key=True, sort_order=81)
    repeat: Mapped[int] = mapped_column(Integer, primary_key=True, sort_order=82)
    evaluation: Mapped[str] = mapped_column(String(NAME_LENGTH))
    task: Mapped[str] = mapped_column(String(NAME_LENGTH))
    model: Mapped[str] = mapped_column(String(NAME_LENGTH))
    status: Mapped[str] = mapped_column(String(20))
    score: Mapped[float] = mapped_column(Float)
    scores: Mapped[JSONValue | None] = mapped_column(_JSON)
    failure_class: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    error: Mapped[str | None] = mapped_column(Text)
    input: Mapped[JSONValue | None] = mapped_column(_JSON)
    expected: Mapped[JSONValue | None] = mapped_column(_JSON)
    case_metadata: Mapped[JSONValue | None] = mapped_column(_JSON)
    answer: Mapped[JSONValue | None] = mapped_column(_JSON)
    duration_s: Mapped[float] = mapped_column(Float)
    requests: Mapped[int] = mapped_column(BigInteger)
    tool_calls: Mapped[int] = mapped_column(BigInteger)
    input_tokens: Mapped[int] = mapped_column(BigInteger)
    output_tokens: Mapped[int] = mapped_column(BigInteger)
    cached_tokens: Mapped[int] = mapped_column(BigInteger)
    cost_usd: Mapped[float | None] = mapped_column(Float)
    judge_tokens: Mapped[int] = mapped_column(BigInteger)
    judge_cost_usd: Mapped[float | None] = mapped_column(Float)
