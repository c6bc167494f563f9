"""A page's directives for crawlers, in ``X-Robots-Tag`` or ``<meta name="robots">``."""

from __future__ import annotations

import re

_FORBID_FOLLOWING = frozenset({"nofollow", "none"})
_CRAWLER = re.compile(r"\s*([a-z][\w.-]*)\s*:(.*)", re.ASCII | re.DOTALL)
_WITH_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


def forbids_following(said: str, user_agent: str = "") -> bool:
    """Whether the links of a page must not be followed.

    Args:
        said: ``noindex, nofollow``, or ``otherbot: nofollow``: directives after the name of a crawler are
            only for that crawler.
        user_agent: The crawler: ``shopbot/1.0 (...)``.
    """
    name = user_agent.partition("/")[0].strip().lower()
    is_for_us = True
    for part in said.lower().split(","):
        directive = part
        found = _CRAWLER.match(part)
        if found is not None and found[1] not in _WITH_VALUE:
            is_for_us, directive = found[1] == name, found[2]
        if is_for_us and directive.strip() in _FORBID_FOLLOWING:
            return True
    return False
