"""Leave to do something that cannot be taken back: what is asked, and what the answer is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class ApprovalRequest(BaseModel):
    """What somebody is to approve of."""

    __wire_name__ = "agentic.core.graph.approvals.ApprovalRequest"

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: str = Field(min_length=1, description="What will be done: a verb, for people and for rules.")
    details: JsonValue = Field(None, description="What there is to know before one decides.")


class ApprovalResponse(BaseModel):
    """What somebody decided."""

    __wire_name__ = "agentic.core.graph.approvals.ApprovalResponse"

    model_config = ConfigDict(extra="forbid", frozen=True)

    approved: bool = Field(description="Whether it may be done.")
    reason: str = Field("", description="Why, or why not.")
