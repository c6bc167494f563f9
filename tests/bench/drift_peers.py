"""Scrapling and AutoScraper on the same pairs of pages."""

from __future__ import annotations

import tempfile
import time
from functools import cache
from pathlib import Path

from tests.bench.drift_protocol import LISTS, Pair, Value, coerce, is_right, plain, without_answers


@cache
def _storage() -> str:
    return str(Path(tempfile.mkdtemp()) / "scrapling.db")


def outcomes(pair: Pair, name: str, selector: str) -> dict[str, object]:
    """Return the outcome of each installed peer, and its CPU time in milliseconds."""
    old, new = (without_answers(page.html).html for page in (pair.old, pair.new))
    found: dict[str, object] = {}
    for peer, run in (("scrapling", _scrapling), ("autoscraper", _autoscraper)):
        start = time.process_time()
        try:
            texts = run(pair, name, selector, old, new)
        except ImportError:
            continue
        except Exception:
            texts = []
        value: Value = None
        if texts:
            value = [text for text in texts if plain(text)] if name in LISTS else coerce(name, texts[0])
        gold = pair.new.labels[name]
        found[peer] = "right" if is_right(name, value, gold) else "wrong" if texts else "abstain"
        found[f"{peer} ms"] = 1000 * (time.process_time() - start)
    return found


def _scrapling(pair: Pair, name: str, selector: str, old: str, new: str) -> list[str]:
    from scrapling.parser import Selector  # pyright: ignore[reportMissingImports]  # a peer, by hand

    options = {
        "adaptive": True,
        "storage_args": {"storage_file": _storage(), "url": f"https://{pair.old.host}"},
    }
    before = Selector(old, url=f"https://{pair.old.host}", **options)
    after = Selector(new, url=f"https://{pair.old.host}", **options)
    before.css(selector, identifier=name, auto_save=True)
    hits = list(after.css(f"{selector}:not(*)", identifier=name, adaptive=True))
    if name in LISTS and hits:
        hits = [hits[0], *hits[0].find_similar()]
    return [str(hit.get_all_text(separator=" ", strip=True)) for hit in hits]


def _autoscraper(pair: Pair, name: str, _selector: str, old: str, new: str) -> list[str]:
    from autoscraper import AutoScraper  # pyright: ignore[reportMissingImports]  # a peer, by hand

    known = pair.old.labels[name]
    wanted = [str(one) for one in known] if isinstance(known, list) else [str(known)]
    scraper = AutoScraper()
    if not scraper.build(html=old, wanted_list=wanted):
        return []
    return list(scraper.get_result_exact(html=new) or ())
