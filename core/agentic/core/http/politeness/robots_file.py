"""A robots.txt cut into its groups, so that only the rules of one crawler are parsed.

A parser of all groups keeps each rule for each crawler of its group: a file of 500 KB that names 15,000
crawlers and then 20,000 rules would fill gigabytes. Lines are read as Protego reads them, with the same
tolerance for spellings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentic.core.linear import LinearPattern

if TYPE_CHECKING:
    from protego import Protego

AGENT = frozenset({"user-agent", "useragent", "user agent", "user_agent", "user-agents"})
SITEMAP = frozenset({"sitemap", "sitemaps", "site-map"})
PATHS = frozenset(
    {"allow", "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"},
)
OTHERS = frozenset(
    {"crawl-delay", "crawl delay", "request-rate", "request rate", "visit-time", "visit time", "host"}
)
KNOWN = AGENT | SITEMAP | PATHS | OTHERS
WHOLE_SITE = SITEMAP | {"host"}
# A word processor writes them in place of ``-`` and ``:``.
_TYPOGRAPHY = str.maketrans("\u2010\u2011\u2012\u2013\u2014\u2212\uff1a", "------:")
_VERSION = LinearPattern(r"([a-z][a-z_-]*)/[\d.]+")
_SECONDS = LinearPattern(r"(\d{1,9})(?:[.,](\d{1,3}))?\s?(?:s|sec|secs|seconds?)?")
# Some servers lose the line ends.
_NEXT_RULE = LinearPattern(r"\s+((?:user-agent|disallow|allow|crawl-delay|sitemap)\s*:)", ignore_case=True)
# Each is searched in the whole URL, for each page; the largest sites have a few hundred.
MAX_PATTERNS = 5_000


@dataclass(slots=True)
class _Group:
    """Crawlers by name, and their rules as written in the file."""

    names: set[str] = field(default_factory=set)
    rules: list[str] = field(default_factory=list)
    pattern_count: int = 0


@dataclass(frozen=True, slots=True)
class AgentRules:
    """The rules for one crawler.

    Attributes:
        parser: It has the rules, for all crawlers.
        pattern_count: Rules with ``*`` or ``$``.
    """

    parser: Protego
    pattern_count: int

    @property
    def fault(self) -> str:
        """Why the rules cannot be obeyed; "" if they can."""
        if self.pattern_count <= MAX_PATTERNS:
            return ""
        return f"it has {self.pattern_count} rules with * or $; the limit is {MAX_PATTERNS}"


class RobotsFile:
    """The groups of a file, read in one pass.

    Args:
        text: The whole file.

    Attributes:
        sitemaps: The sitemaps in it, in its order.
    """

    def __init__(self, text: str) -> None:
        self.sitemaps: list[str] = []
        self._groups: list[_Group] = []
        self._names: dict[str, None] = {}  # in the order of the file
        self._has_rules = True  # of the open group; then an agent starts another one
        for line in _lines(text):
            if found := _directive(line.partition("#")[0].strip()):
                self._take(*found)

    def rules_for(self, user_agent: str) -> AgentRules:
        """Return the rules of the groups for ``user_agent``, or of the groups for all crawlers."""
        from protego import Protego  # loaded by the first crawl, not by every import

        name = self._closest(user_agent.strip().lower())
        groups = [group for group in self._groups if name in group.names]
        lines = [line for group in groups for line in group.rules]
        count = sum(group.pattern_count for group in groups)
        text = "\n".join(["User-agent: *", *lines]) if count <= MAX_PATTERNS else ""
        return AgentRules(Protego.parse(text), count)

    def _take(self, name: str, value: str) -> None:
        if name in AGENT:
            if self._has_rules:
                self._groups.append(_Group())
                self._has_rules = False
            self._name(value.lower())
            return
        if name not in WHOLE_SITE:
            self._has_rules = True
        if not value:
            return
        if name in SITEMAP:
            self.sitemaps.append(value.strip("\"'<>"))
        elif name == "crawl-delay" and self._groups and (found := _SECONDS.fullmatch(value.lower())):
            self._groups[-1].rules.append(f"{name}: {found[1]}.{found[2] or 0}")
        elif name in KNOWN and name not in WHOLE_SITE and self._groups:
            group = self._groups[-1]
            group.rules.append(f"{name}: {value}")
            group.pattern_count += name in PATHS and ("*" in value or "$" in value)

    def _name(self, value: str) -> None:
        plain = value.replace("*", "") if value != "*" else ""
        version = _VERSION.fullmatch(value)
        for name in filter(None, (value, plain, version[1] if version else "")):
            self._groups[-1].names.add(name)
            self._names[name] = None

    def _closest(self, user_agent: str) -> str | None:
        """Return the name that matches most of ``user_agent``; None if none matches."""
        best, best_score = None, 0
        for name in self._names:
            if (score := _score(name, user_agent)) > best_score:
                best, best_score = name, score
        return best


def _score(name: str, user_agent: str) -> int:
    """Return how much of ``user_agent`` matches ``name``, from the start of a word; ``*`` is the least."""
    if name == "*":
        return 1
    at = user_agent.find(name)
    while at > 0 and (user_agent[at - 1].isalnum() or user_agent[at - 1] in "-_"):
        at = user_agent.find(name, at + 1)
    return len(name) if at >= 0 else 0


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a file; one with several rules is several lines."""
    if "\n" not in text and "\r" not in text:
        text = text.replace("\\r", "").replace("\\n", "\n")
    for line in text.splitlines():
        if line.count(":") > 1:
            yield from _NEXT_RULE.sub(lambda found: f"\n{found[1]}", line.partition("#")[0]).split("\n")
        else:
            yield line


def _directive(line: str) -> tuple[str, str] | None:
    """Return name and value of a line, with colon or space between; None if it has neither."""
    if not line[:20].isascii():
        line = line[:20].translate(_TYPOGRAPHY) + line[20:]
    name, colon, value = line.partition(":")
    name = name.strip().lower()
    if colon and (name in KNOWN or not value or value[0].isspace()):
        return name, value.strip()
    words = line.split(maxsplit=2)
    for count in (1, 2):
        if (known := " ".join(words[:count]).lower()) in KNOWN:
            return known, " ".join(line.split()[count:])
    return (name, value.strip()) if colon else None
