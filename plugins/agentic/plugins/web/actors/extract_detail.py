"""The actor that reads the item a page describes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.actors import Actor, ActorContext, ItemOutput, Page
from agentic.core.records import unchecked
from agentic.plugins.web.reading.fields import Schema, read_fields, read_json_fields, source_of
from agentic.plugins.web.reading.json_data import json_of
from agentic.plugins.web.reading.json_schema import JsonSchema, fit

_GIVEN = {"item"}


class ExtractDetailInput(BaseModel):
    """A page, and how to read it."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    page: Page
    fields: Schema = Field(alias="schema", description="Field name -> selector or rule.")
    json_schema: JsonSchema | None = Field(
        default=None,
        description="JSON Schema to convert the fields to and check them with; needs the extra `schema`.",
    )


class ExtractDetailActor(Actor[ExtractDetailInput, ItemOutput]):
    """Extracts an item from a detail page with selectors. The item also has the page's ``url``."""

    name = "extract_detail"
    version = "2"
    aliases = ("ExtractDetail",)
    Input = ExtractDetailInput
    Output = ItemOutput
    failure_classes = frozenset({"decode", "not_html", "schema_invalid", "selector_missing", "too_large"})

    async def run(self, ctx: ActorContext, given: ExtractDetailInput, /) -> ItemOutput:
        """Return the item."""
        page = given.page
        unread: list[str] = []

        def warn(subject: str, sentence: str) -> None:
            unread.append(subject)
            ctx.warn_about(subject, sentence)

        if page.kind == "json":
            found = read_json_fields(page, given.fields, json_of(page), warn)
        else:
            found = read_fields(source_of(page, warn), given.fields)
        if given.json_schema is not None:
            found = fit(found, given.json_schema, given.page.final_url)
        if not unread and not any(value not in (None, "", []) for value in found.values()):
            names = ", ".join(found)
            ctx.warn(f"no selector of its fields ({names}) matches anything on {given.page.final_url}")
        # Each value is JSON by the way it was read: to check that again takes as long as half the reading.
        return unchecked(ItemOutput, {"item": {"url": given.page.final_url, **found}}, _GIVEN)
