"""The actor that reads what a page says about itself, for machines."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.actors import Actor, ActorContext, ActorError, ItemOutput, Page
from agentic.core.reading.addresses import base_of
from agentic.core.reading.structured.jsonld import LinkedData
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.html import document_of
from agentic.plugins.web.reading.vocabularies import MICRODATA, RDFA, read_annotations, read_opengraph


class StructuredDataInput(BaseModel):
    """A page that describes itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    page: Page
    required: bool = Field(default=False, description="Fail with `empty` if the page has no structured data.")


class StructuredDataActor(Actor[StructuredDataInput, ItemOutput]):
    """Extracts JSON-LD, microdata, RDFa Lite and OpenGraph.

    The item has ``json_ld``, ``microdata`` and ``rdfa``, lists of objects in the shape of JSON-LD, and
    ``opengraph``, a mapping.
    """

    name = "structured_data"
    version = "1"
    Input = StructuredDataInput
    Output = ItemOutput
    failure_classes = frozenset({"empty", "not_html", "too_large"})

    async def run(self, ctx: ActorContext, given: StructuredDataInput, /) -> ItemOutput:
        """Return the item."""
        document = document_of(given.page)
        base = base_of(document, given.page.final_url)
        found: dict[str, JSONValue] = {
            "json_ld": [*LinkedData(document, given.page.final_url, ctx.warn_about).nodes()],
            "microdata": [*read_annotations(document, MICRODATA, base)],
            "rdfa": [*read_annotations(document, RDFA, base)],
            "opengraph": read_opengraph(document),
        }
        if given.required and not any(found.values()):
            raise ActorError(
                f"{given.page.final_url} has no JSON-LD, microdata, RDFa or OpenGraph; read it with "
                "`extract_detail` instead",
                failure_class="empty",
                status=given.page.status,
            )
        return ItemOutput(item={"url": given.page.final_url, **found})
