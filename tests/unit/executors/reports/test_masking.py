from __future__ import annotations

import pytest

from agentic.executors.agents.redaction import MASK, Redactor
from agentic.executors.reports.changes import ChangedPage, ChangeReport, PageChange
from agentic.executors.reports.masking import Shown, masked_changes, masked_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.example/p?page=2&q=x", "https://a.example/p?page=2&q=x"),
        ("https://me:pass@a.example:8/p", "https://a.example:8/p"),
        ("https://a/p?api_key=abc&page=2", f"https://a/p?api_key={MASK}&page=2"),
        ("https://a/p?X-Amz-Signature=abc", f"https://a/p?X-Amz-Signature={MASK}"),
        ("https://a/p?access_token=abc#top", f"https://a/p?access_token={MASK}#top"),
        ("https://a/p?keyword=abc&author=ada", "https://a/p?keyword=abc&author=ada"),
        ("http://me:secret@[/p?token=x", "[/p"),
    ],
)
def test_secrets_in_addresses_are_masked(url: str, shown: str) -> None:
    assert masked_url(url) == shown


def test_known_secrets_are_masked_wherever_they_stand() -> None:
    shown = Shown(Redactor(("hunter2",)))
    value = {"note": "it is hunter2", "more": ["see https://a/?token=abc", 5]}
    assert shown.value(value) == {"note": f"it is {MASK}", "more": [f"see https://a/?token={MASK}", 5]}


def test_addresses_of_changed_pages_are_masked() -> None:
    page = ChangedPage(url="https://a/?token=abc", reason="gone")
    found = ChangeReport(
        execution_id="b",
        against_id="a",
        counts={PageChange.GONE: 1},
        pages={PageChange.GONE: (page,)},
        is_whole=True,
    )
    [masked] = masked_changes(found, Shown(Redactor())).pages[PageChange.GONE]
    assert masked == ChangedPage(url=f"https://a/?token={MASK}", reason="gone")
