from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

from agentic.core.actors import ActorContext


def test_a_context_for_another_call_is_the_same_in_all_else() -> None:
    values: dict[str, Any] = {field.name: object() for field in fields(ActorContext)}
    context = ActorContext(**values)
    assert context.for_call("crawl/1") == replace(context, call="crawl/1")
    assert context.call == cast(str, values["call"])
