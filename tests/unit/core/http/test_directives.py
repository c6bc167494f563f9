"""What pages say to crawlers."""

from __future__ import annotations

import pytest

from agentic.core.http.politeness.robots import forbids_following


@pytest.mark.parametrize(
    ("said", "is_forbidden"),
    [
        ("", False),
        ("index, follow", False),
        ("noindex", False),
        ("nofollow", True),
        ("NoIndex , NOFOLLOW", True),
        ("none", True),
        ("max-image-preview: none", False),
        ("otherbot: nofollow", False),
        ("otherbot: noindex, nofollow", False),
        ("otherbot: noindex, shopbot: nofollow", True),
        ("ShopBot: none", True),
        ("unavailable_after: Friday, 25-Jun-27 15:00:00 GMT, nofollow", True),
        ("nofollowing", False),
    ],
)
def test_links_are_not_followed_where_a_page_says_so(said: str, is_forbidden: bool) -> None:
    assert forbids_following(said, "shopbot/1.0 (+https://shop.example)") is is_forbidden
