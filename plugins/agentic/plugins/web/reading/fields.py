"""Fields of a page: where each one stands, and what its text means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic_core import CoreSchema
from turbohtml import Document, Element

from agentic.core.actors import ActorError, Page
from agentic.core.linear import RegexTooCostlyError, compile_linear
from agentic.core.reading.addresses import base_of
from agentic.core.reading.ambiguous import AmbiguousError
from agentic.core.reading.dates import DateOrder, is_whole_pattern
from agentic.core.reading.structured.jsonld import LinkedData, values_at
from agentic.core.records import record
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.conversions import AMOUNTS, FieldType, Spelling, convert, truth_of
from agentic.plugins.web.reading.digits import Decimal, shown, without_joints
from agentic.plugins.web.reading.html import (
    amount_text_of,
    document_of,
    select,
    select_one,
    text_of,
)
from agentic.plugins.web.reading.json_data import (
    JsonPath,
    first_found,
    found_in,
    scripts_of,
)
from agentic.plugins.web.reading.limits import TextMeter, check_nesting
from agentic.plugins.web.reading.selectors import Selector
from agentic.plugins.web.reading.xpath import XPath, find

Item = dict[str, JSONValue]


def _checked_regex(regex: str) -> str:
    compile_linear(regex)
    return regex


def _checked_date_format(pattern: str) -> str:
    if not is_whole_pattern(pattern):
        raise ValueError(f"{pattern!r} is not a date format with year, month and day, such as %d/%m/%Y")
    return pattern


def _rule(value: object) -> object:
    return {"selector": value} if isinstance(value, str) else value


class _OrSelector:
    """Says in the JSON Schema that a selector may stand for the rule."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"anyOf": [{"type": "string"}, handler(core)]}


OR_SELECTOR = _OrSelector()


class FieldRule(BaseModel):
    """How to read one field. In a spec a plain string is short for its ``selector``."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    selector: Selector | None = Field(default=None, description="CSS selector of the elements.")
    xpath: XPath | None = Field(default=None, description="XPath 1.0 of elements, attributes or a value.")
    jsonld: str | None = Field(
        default=None,
        min_length=1,
        description="Place in the page's JSON-LD: a type, then keys: Product.offers.price.",
    )
    meta: str | None = Field(
        default=None, pattern=r"^[^\s\"\]\\]+$", description="Name or property of a <meta>: og:title."
    )
    json_path: JsonPath | None = Field(
        default=None,
        alias="json",
        description="JMESPath in a JSON answer, or in the JSON that scripts of an HTML page hold.",
    )
    script: str | None = Field(
        default=None,
        min_length=1,
        description="With json: the id of a script (__NEXT_DATA__), or the variable it sets "
        "(window.__STATE__); every script of the type application/json otherwise.",
    )
    attr: str | None = Field(default=None, description="Attribute to read instead of the text.")
    regex: Annotated[str, AfterValidator(_checked_regex)] | None = Field(
        default=None,
        description="Regular expression for the text: takes the first group, or the whole match.",
    )
    type: FieldType = Field(
        default="string",
        description="boolean: whether the element exists, or data are true; price: {amount, currency}; "
        "html: the markup; "
        "json: as it is, the default with a json path.",
    )
    decimal: Decimal | None = Field(
        default=None,
        description='Character before the fraction of a number, "." or ",": where 1.299 may be both.',
    )
    date_format: Annotated[str, AfterValidator(_checked_date_format)] | None = Field(
        default=None, description="Date format, as for strptime: %d/%m/%Y; or epoch, epoch_ms."
    )
    date_order: DateOrder | None = Field(
        default=None, description="dmy or mdy: whether 03/04/2026 begins with the day or the month."
    )
    required: bool = Field(
        default=False, description="Fail if it is missing (selector_missing) or cannot be read."
    )
    default: JSONValue = Field(default=None, description="Value if it is missing or cannot be read.")
    fields: dict[str, Annotated[FieldRule, BeforeValidator(_rule), OR_SELECTOR]] | None = Field(
        default=None, min_length=1, description="Fields of a nested object, extracted from the elements."
    )
    list: bool = Field(default=False, description="All matching elements instead of the first.")
    alternatives: tuple[Annotated[FieldRule, BeforeValidator(_rule), OR_SELECTOR], ...] = Field(
        default=(),
        max_length=8,
        description="Rules to try, in this order, where this one finds nothing.",
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        places = {
            "selector": self.selector,
            "xpath": self.xpath,
            "jsonld": self.jsonld,
            "meta": self.meta,
            "json": self.json_path,
        }
        given = [name for name, place in places.items() if place is not None]
        if len(given) != 1 and not (self.fields and given in ([], ["selector"], ["json"])):
            wanted = (
                "one of selector, xpath, jsonld, meta and json"
                if not self.fields
                else "a selector, json, or nothing"
            )
            raise ValueError(f"give {wanted}, not {' and '.join(given) or 'nothing'}")
        if self.script is not None and self.json_path is None:
            raise ValueError("script needs json, the path in the script's data; json: '@' is all of it")
        if self.required and self.default is not None:
            raise ValueError("a required field needs no default; remove one of the two")
        if self.alternatives and self.type == "boolean":
            raise ValueError("a boolean is false where nothing is found, so its alternatives are never tried")
        return self

    @cached_property
    def tried(self) -> tuple[FieldRule, ...]:
        """This rule and its alternatives, each for itself: the next one looks for a missing value."""
        own = self.model_copy(update={"alternatives": (), "required": False, "default": None})
        return (own, *self.alternatives)

    @property
    def kind(self) -> FieldType:
        """The type to convert to: data have one already, where the rule gives none."""
        return self.type if self.json_path is None or "type" in self.model_fields_set else "json"

    @cached_property
    def simple_selector(self) -> str | None:
        """The selector, if the first element that matches has the value; decided once for all pages."""
        is_more = self.list or self.regex is not None or self.type == "boolean" or self.fields is not None
        return None if is_more else self.selector

    @cached_property
    def spelling(self) -> Spelling:
        """How the site writes values, on a page in UTF-8."""
        return Spelling(date_format=self.date_format, date_order=self.date_order, decimal=self.decimal)

    @property
    def is_data(self) -> bool:
        """Whether its values are data for programs: there, false is a value like others."""
        return (self.jsonld or self.meta or self.json_path) is not None

    @property
    def place(self) -> str:
        """What it is looked for by, for messages."""
        return repr(self.selector or self.xpath or self.jsonld or self.meta or self.json_path)


Schema = Annotated[dict[str, Annotated[FieldRule, BeforeValidator(_rule), OR_SELECTOR]], Field(min_length=1)]
"""Field name -> how to read it."""


Warn = Callable[[str, str], object]
"""Takes the subject of a warning, and the warning: ``ActorContext.warn_about``."""


def ignore(subject: str, sentence: str) -> None:
    """Ignore a warning."""


@record
class Place:
    """Where fields are read, for messages.

    Attributes:
        page: As it was fetched.
        base: What addresses on it are relative to.
        warn: Takes a warning about a field that cannot be read.
    """

    page: Page
    base: str
    warn: Warn


@record
class Source(Place):
    """A page that fields are read from.

    Attributes:
        document: Its elements.
        meter: Counts what is read of it.
        linked: Its JSON-LD.
    """

    document: Document
    meter: TextMeter
    linked: LinkedData


class _Latest:
    """The last page that was read; a crawl reads links and then details of one page."""

    document: tuple[Page, Document, str] | None = None


def source_of(page: Page, warn: Warn = ignore) -> Source:
    """Return a page ready to be read. Its document is shared: do not change it.

    Args:
        page: HTML.
        warn: Takes a warning about a field that cannot be read.

    Raises:
        ActorError: It is no HTML (``not_html``), or nested too deep (``too_large``).
    """
    latest = _Latest.document
    if latest is None or latest[0] is not page:
        document = document_of(page)
        latest = _Latest.document = (page, document, base_of(document, page.final_url))
    _, document, base = latest
    # Each actor that reads it may read as much, and hears of what cannot be read.
    linked = LinkedData(document, page.final_url, warn)
    return Source(page, base, warn, document, TextMeter(page.final_url), linked)


def read_fields(source: Source, schema: Mapping[str, FieldRule], scope: Element | None = None) -> Item:
    """Return the fields of a page; None for those that are not there.

    Args:
        source: The page.
        schema: Field name -> rule.
        scope: Element in which selectors look; the whole page when None.

    Raises:
        ActorError: A required field is missing (``selector_missing``), or its text is not of its type
            (``schema_invalid``). Other fields that cannot be read are their defaults, and a warning.
    """
    return {name: _read(name, rule, source, scope) for name, rule in schema.items()}


def _read(name: str, rule: FieldRule, source: Source, scope: Element | None) -> JSONValue:
    if rule.alternatives:
        return _first(name, rule, source, lambda one: _read(name, one, source, scope))
    if (selector := rule.simple_selector) is not None:  # most fields: a quarter of the time
        node = select_one(scope or source.document, selector)
        if node is not None and (text := _content(node, rule, source)) is not None:
            return text if rule.type == "string" else _converted(name, text, rule, source)
    if rule.fields is not None:
        return _objects(name, rule, rule.fields, source, scope)
    return _settled(name, rule, _found(rule, source, scope), source)


def _first(name: str, rule: FieldRule, place: Place, read: Callable[[FieldRule], JSONValue]) -> JSONValue:
    """Return the value of the first of a rule's alternatives that finds one."""
    found = next((value for value in map(read, rule.tried) if value not in (None, "", [])), None)
    if found is None and rule.required:
        raise _missing(name, rule, place)
    return rule.default if found is None else found


def read_json_fields(
    page: Page, schema: Mapping[str, FieldRule], data: JSONValue, warn: Warn = ignore
) -> Item:
    """Return the fields of JSON data; None for those that are not there.

    Args:
        page: Where the data come from.
        schema: Field name -> rule with a ``json`` path, or with ``fields`` only.
        data: Start of the paths.
        warn: Takes a warning about a field that cannot be read.

    Raises:
        ActorError: See :func:`read_fields`; or a rule has no ``json`` path (``not_html``).
    """
    place = Place(page, page.final_url, warn)
    return {name: _read_json(name, rule, place, data) for name, rule in schema.items()}


def _read_json(name: str, rule: FieldRule, place: Place, data: JSONValue) -> JSONValue:
    page, url = place.page, place.page.final_url
    if rule.json_path is None and rule.fields is None:
        message = (
            f"field {name!r}: {url} is {page.content_type or 'JSON'}, not HTML; give the field's path as "
            "json: PATH"
        )
        raise ActorError(message, failure_class="not_html", status=page.status)
    if rule.alternatives:
        return _first(name, rule, place, lambda one: _read_json(name, one, place, data))
    found = found_in(rule.json_path, data, url)
    if rule.fields is not None:
        return _json_objects(name, rule, rule.fields, found, place)
    return _settled(name, rule, _values_of(found, is_list=rule.list), place)


def _json_objects(
    name: str, rule: FieldRule, schema: Mapping[str, FieldRule], found: JSONValue, place: Place
) -> JSONValue:
    objects = _values_of(found, is_list=rule.list)
    if rule.required and not objects:
        raise _missing(name, rule, place)
    items: list[JSONValue] = [read_json_fields(place.page, schema, one, place.warn) for one in objects]
    if rule.list:
        return items
    return items[0] if items else rule.default


def _values_of(found: JSONValue, *, is_list: bool) -> list[JSONValue]:
    """Return the found values; the elements of a list if a list is wanted."""
    if found is None:
        return []
    return found if is_list and isinstance(found, list) else [found]


def _in_scripts(rule: FieldRule, source: Source) -> JSONValue:
    return first_found(rule.json_path or "@", scripts_of(source.page, rule.script), source.base)


def _settled(name: str, rule: FieldRule, values: Iterable[JSONValue], place: Place) -> JSONValue:
    """Return the value of a field from the values at its place."""
    if rule.regex is not None:
        values = map(partial(_matched, rule.regex), values)
    there = (value for value in values if value is not None)
    found = list(there if rule.list else islice(there, 1))
    if rule.required and not found:
        raise _missing(name, rule, place)
    if rule.kind == "boolean" and not rule.list:
        return bool(found) and (not rule.is_data or truth_of(found[0]))
    if rule.list:
        return [_converted(name, value, rule, place) for value in found]
    return _converted(name, found[0], rule, place) if found else rule.default


def _objects(
    name: str, rule: FieldRule, schema: Mapping[str, FieldRule], source: Source, scope: Element | None
) -> JSONValue:
    if rule.json_path is not None:
        return _json_objects(name, rule, schema, _in_scripts(rule, source), source)
    if rule.selector is None:
        return read_fields(source, schema, scope)
    nodes = select(scope or source.document, rule.selector)
    check_nesting(nodes, rule.selector, source.base)
    if rule.required and not nodes:
        raise _missing(name, rule, source)
    if rule.list:
        return [read_fields(source, schema, node) for node in nodes]
    return read_fields(source, schema, nodes[0]) if nodes else rule.default


def _found(rule: FieldRule, source: Source, scope: Element | None) -> Iterable[JSONValue]:
    """Return what stands at the rule's place, in the order of the page."""
    if rule.selector is not None:
        nodes = select(scope or source.document, rule.selector)
        return (_content(node, rule, source) for node in nodes)
    if rule.json_path is not None:
        return _values_of(_in_scripts(rule, source), is_list=rule.list)
    if rule.jsonld is not None:
        return values_at(source.linked.nodes(), rule.jsonld)
    if rule.meta is not None:
        nodes = source.document.select(f'meta[property="{rule.meta}"], meta[name="{rule.meta}"]')
        return [node.attr("content") for node in nodes]
    text = amount_text_of if rule.type in AMOUNTS and rule.regex is None else text_of
    return find(
        rule.xpath or "", scope or source.document, source.meter, as_html=rule.type == "html", text_of=text
    )


def _content(node: Element, rule: FieldRule, source: Source) -> str | None:
    if rule.attr is not None:
        return node.attr(rule.attr)
    if rule.type in AMOUNTS:
        text = amount_text_of(node)
        if rule.regex is not None:
            text = without_joints(text)
    else:
        text = node.html if rule.type == "html" else text_of(node)
    source.meter.take(len(text))
    return text


def _matched(regex: str, value: JSONValue) -> JSONValue:
    if not isinstance(value, str):
        return value
    try:
        found = compile_linear(regex).search(value)
    except RegexTooCostlyError as exc:
        raise ActorError(str(exc), failure_class="too_large") from None
    if found is None:
        return None
    return found.groups[0] if found.groups else found.whole


def _converted(name: str, value: JSONValue, rule: FieldRule, place: Place) -> JSONValue:
    """Return a value as what its rule asks for; the default, with a warning, if it cannot be read."""
    base, reason = place.base, ""
    try:
        converted = convert(value, rule.kind, base, _spelling(rule, place))
    except AmbiguousError as exc:
        converted, reason = None, f": {exc}"
    if converted is not None:
        return converted
    message = f"field {name!r}: {shown(str(value))!r} on {base} is not a valid {rule.kind}{reason}"
    if rule.required:
        raise ActorError(message, failure_class="schema_invalid")
    instead = "null" if rule.default is None else "its default"
    place.warn(f"field {name!r}", f"{message}; the field is {instead}")
    return rule.default


def _spelling(rule: FieldRule, place: Place) -> Spelling:
    encoding = place.page.encoding
    return rule.spelling if encoding == rule.spelling.encoding else replace(rule.spelling, encoding=encoding)


def _missing(name: str, rule: FieldRule, place: Place) -> ActorError:
    message = f"field {name!r}: {rule.place} matches nothing on {place.base}"
    return ActorError(message, failure_class="selector_missing", status=place.page.status)
