"""Keeps secrets out of reports: known ones, and parts of addresses that look like secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit, urlunsplit

from agentic.executors.agents.redaction import MASK, Redactor
from agentic.executors.reports.changes import ChangedPage, ChangeReport
from agentic.mappers import AgentModel

_TELLING = re.compile(
    r"token|secret|passw|pwd|api[-_]?key|apikey|^key$|auth(?!or)|credential|session|^sid$|signature|^sig$|jwt",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://[^\s'\"<>]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Shown:
    """Masks texts and addresses for display."""

    redactor: Redactor

    @classmethod
    def of(cls, agent: AgentModel) -> Shown:
        """Return a mask for the secrets in the config of an agent."""
        return cls(Redactor.of_agent(agent))

    def text(self, text: str) -> str:
        """Return a text with secrets masked, in the addresses in it, too."""
        return _ADDRESS.sub(lambda found: masked_url(found.group()), self.redactor.text(text))

    def value(self, value: object) -> object:
        """Return data with secrets masked in its texts."""
        match value:
            case str():
                return self.text(value)
            case list() | tuple():
                return [self.value(part) for part in value]
            case dict():
                return {str(key): self.value(part) for key, part in value.items()}
        return value


def masked_changes(changes: ChangeReport, shown: Shown) -> ChangeReport:
    """Return changes with masked addresses."""
    pages = {
        change: tuple(ChangedPage(url=shown.text(page.url), reason=page.reason) for page in found)
        for change, found in changes.pages.items()
    }
    return replace(changes, pages=pages)


def masked_url(url: str) -> str:
    """Return an address without user name and password, and with the values of sensitive parameters masked.

    An address that cannot be parsed is cut off before its query.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.partition("?")[0].rpartition("@")[2]
    netloc = parts.netloc.rpartition("@")[2]
    query = "&".join(_parameter(pair) for pair in parts.query.split("&")) if parts.query else ""
    return urlunsplit(parts._replace(netloc=netloc, query=query))


def _parameter(pair: str) -> str:
    name, mark, _ = pair.partition("=")
    return f"{name}={MASK}" if mark and _TELLING.search(name) else pair
