"""Learning from a few pages of a crawl how its fields look: their wrappers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agentic.core.actors import Page
from agentic.core.pipeline.drift.profiles import MAX_NAME_CHARS
from agentic.core.pipeline.drift.sights import PageSight, is_blank, lacks_fields
from agentic.core.pipeline.expressions.secret_masking import Hidden
from agentic.core.pipeline.spec.spec import ActorStep, CrawlStep, DetailRules, Step
from agentic.core.pipeline.spec.walking import rows_of
from agentic.core.records import record
from agentic.core.types import JSONValue

if TYPE_CHECKING:  # they read HTML, and most commands need none of it
    from agentic.core.wrappers import Wrapper

PAUSE = 40
"""Tiny pages of a kind between the first two that are learnt from; then twice as many each time."""

TAGS_OF_A_PAGE = 5
"""For this number of tags on the page, the pause is longer by a page: to learn from it takes longer."""

PATIENCE = 8
"""Pages that are passed over because they lack a field, before one of them is taken."""

MAX_DOUBLED = 8
"""How often the pause is doubled."""

MAX_TAGS = 16_000
"""A page with more tags would take a tenth of a second."""

MAX_LEARNT = 200
"""Fields that a crawl learns."""


@record
class LearntField:
    """A field as one page shows it.

    Attributes:
        kind: Key of the kind of the page.
        key: Key of the field: see :func:`wrapper_keys`.
        wrapper: From this page alone.
    """

    kind: str
    key: str
    wrapper: Wrapper


def wrapper_keys(rules: DetailRules) -> dict[str, str]:
    """Return the key of each field's wrapper, by the name of the field.

    A key depends on the rule of its field and on the addresses of the pages: fields that do not change keep
    their keys in the next version of a pipeline, and after a rollback.

    Args:
        rules: With all references resolved.
    """
    written = rules.model_dump(mode="json", include={"match", "config"})
    return _keys_of(written["match"], written["config"].get("schema"))


def keys_of_schemas(steps: Sequence[Step]) -> Iterator[tuple[JSONValue, dict[str, str]]]:
    """Yield each schema of fields in some steps, or within them, with the keys of its wrappers.

    Schemas outside of a crawl have keys, too, for wrappers from ``agentic pipelines build``.
    """
    for step in steps:
        if isinstance(step, CrawlStep):
            yield from ((rules.config.get("schema"), wrapper_keys(rules)) for rules in step.details)
        elif isinstance(step, ActorStep) and "schema" in step.config:
            schema = step.model_dump(mode="json", include={"config"})["config"]["schema"]
            yield schema, _keys_of([], schema)
        for _, inner in rows_of(step):
            yield from keys_of_schemas(inner)


@dataclass(slots=True)
class _KindLearner:
    """The pages of one kind: the rules that read them, and the number of pages until the next lesson."""

    rules: DetailRules
    keys: Mapping[str, str]
    left: int = 1
    taken: int = 0


@dataclass(slots=True)
class FieldLearner:
    """Chooses the pages of one crawl in this process that are learnt from, and learns.

    The first page of a kind, and of a repaired one, and then ever fewer: the longer a page takes, the fewer.
    """

    _kinds: dict[str, _KindLearner] = field(default_factory=dict)

    def learn(
        self,
        page: Page,
        sight: PageSight,
        rules: DetailRules,
        item: Mapping[str, JSONValue],
        *,
        key: str | None,
        hidden: Hidden,
    ) -> tuple[LearntField, ...]:
        """Return the facts about the fields of a page; nothing for most pages.

        Args:
            page: As it was fetched.
            sight: Its look.
            rules: The rules that have read it, with all references resolved.
            item: The only item on it.
            key: The item's key; None without one.
            hidden: Secrets that are in the rules.
        """
        kind = self._kinds.get(sight.kind.key)
        if kind is None or kind.rules is not rules:
            kind = self._kinds[sight.kind.key] = _next(kind, rules)
        kind.left -= 1
        if kind.left > 0 or sight.wall is not None or not page.is_html or is_blank((item,)):
            return ()
        if kind.left > -PATIENCE and lacks_fields((item,)):
            return ()
        tags = page.text.count("<")
        kind.left = (PAUSE + tags // TAGS_OF_A_PAGE) << min(kind.taken, MAX_DOUBLED)
        kind.taken += 1
        schema = rules.config.get("schema")
        if tags > MAX_TAGS or not kind.keys or not isinstance(schema, dict):
            return ()
        values = {} if rules.python is not None else item
        found = _wrappers(page, schema, values, key, hidden)
        keys = kind.keys
        return tuple(LearntField(sight.kind.key, keys[name], found[name]) for name in found if name in keys)


def _next(kind: _KindLearner | None, rules: DetailRules) -> _KindLearner:
    """Return the state for rules that are another object: of the next slice, or after a repair."""
    if kind is None or kind.rules != rules:
        return _KindLearner(rules, wrapper_keys(rules))
    return replace(kind, rules=rules)


def add_learnt(text: str | None, fields: Iterable[LearntField]) -> str:
    """Return the lessons of a crawl as text, with further fields.

    Args:
        text: So far.
        fields: Up to ``MAX_LEARNT`` different ones are kept.
    """
    from agentic.core.wrappers import merge

    known = load_learnt(text)
    for one in fields:
        kind = known.setdefault(one.kind, {})
        if one.key in kind:
            kind[one.key] = merge(kind[one.key], one.wrapper)
        elif sum(map(len, known.values())) < MAX_LEARNT:
            kind[one.key] = one.wrapper
    return _dump(known)


def without_learnt(text: str | None, kinds: Collection[str]) -> str:
    """Return the text of :func:`add_learnt` without some kinds of pages."""
    return _dump({kind: wrappers for kind, wrappers in load_learnt(text).items() if kind not in kinds})


def load_learnt(text: str | None) -> dict[str, dict[str, Wrapper]]:
    """Return the lessons that :func:`add_learnt` has written: kind -> key -> wrapper.

    Lessons of another release are left out: a crawl never fails by its lessons.
    """
    given: dict[str, dict[str, str]] = json.loads(text or "{}")
    found: dict[str, dict[str, Wrapper]] = {}
    for kind, wrappers in given.items():
        read = {key: _read(one) for key, one in wrappers.items()}
        found[kind] = {key: wrapper for key, wrapper in read.items() if wrapper is not None}
    return found


def _read(text: str) -> Wrapper | None:
    from agentic.core.wrappers import decode

    try:
        return decode(text.encode("utf-8", "replace"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _dump(known: Mapping[str, Mapping[str, Wrapper]]) -> str:
    from agentic.core.wrappers import encode

    data = {
        kind: {key: encode(one).decode() for key, one in wrappers.items()} for kind, wrappers in known.items()
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _keys_of(match: JSONValue, schema: JSONValue) -> dict[str, str]:
    if not isinstance(schema, dict):
        return {}
    names = [name for name in schema if len(name) <= MAX_NAME_CHARS]
    return {name: _key(match, name, schema[name]) for name in names}


def _key(match: JSONValue, name: str, rule: JSONValue) -> str:
    whole = {"selector": rule} if isinstance(rule, str) else rule
    text = json.dumps([match, name, whole], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _wrappers(
    page: Page,
    schema: Mapping[str, JSONValue],
    values: Mapping[str, JSONValue],
    key: str | None,
    hidden: Hidden,
) -> dict[str, Wrapper]:
    """Return the wrappers of the fields on one page."""
    from turbohtml import parse

    from agentic.core.wrappers import PageTree, learn, observation_of
    from agentic.core.wrappers.rules import comparable, wrapper_of_rule

    # A rule with a secret in it must not be stored.
    rules = {name: rule for name, rule in schema.items() if not hidden.values or hidden.value(rule) == rule}
    made = {name: wrapper_of_rule(name, rule) for name, rule in rules.items()}
    known = {name: wrapper for name, wrapper in made.items() if wrapper is not None}
    tree = PageTree(parse(page.text, positions=False), page.final_url)
    shown = {name: comparable(values[name]) for name in known if values.get(name) is not None}
    return learn(known, observation_of(tree, key or page.final_url, known, shown))
