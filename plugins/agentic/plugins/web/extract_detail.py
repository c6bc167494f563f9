"""The actor that reads the item a page describes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.actors import Actor, ActorContext, ItemOutput, Page
from agentic.plugins.web.fields import Schema, read_fields
from agentic.plugins.web.html import base_of, document_of


class ExtractDetailInput(BaseModel):
    """A page, and how to read it."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    page: Page
    fields: Schema = Field(alias="schema", min_length=1, description="Field name -> selector or rule.")


class ExtractDetailActor(Actor[ExtractDetailInput, ItemOutput]):
    """Reads a detail page by a schema of selectors. The item also has the page's ``url``."""

    name = "extract_detail"
    version = "1"
    aliases = ("ExtractDetail",)
    Input = ExtractDetailInput
    Output = ItemOutput

    async def run(self, ctx: ActorContext, given: ExtractDetailInput, /) -> ItemOutput:  # noqa: ARG002 - as declared
        """Return the item."""
        document = document_of(given.page)
        found = read_fields(document, given.fields, base_of(document, given.page))
        return ItemOutput(item={"url": given.page.final_url, **found})
