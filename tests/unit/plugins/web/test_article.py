"""Articles without what stands around them."""

from __future__ import annotations

from typing import Any

import pytest

from agentic.core.actors import ActorError
from agentic.core.reading import isolated
from agentic.fakes.news.revisions import Revisions
from agentic.fakes.news.site import News
from agentic.plugins.web.actors.article import ArticleActor


def article() -> str:
    news = News(1, Revisions(), articles=3)
    page = news.page(news.paths()[0], "", "http://news.example")
    assert page is not None
    return page.body.decode()


async def test_an_article_is_read_with_who_wrote_it_when(act: Any, page: Any) -> None:
    item = (await act(ArticleActor, page=page(article(), url="http://news.example/a?from=mail"))).item
    assert item["title"] in item["text"]
    assert item["markdown"].startswith(f"# {item['title']}\n")
    assert "Advertisement" not in item["text"]
    assert item["canonical_url"].startswith("http://news.example/article/1-")
    known = {name: item[name] for name in ("url", "author", "date", "language", "site_name")}
    assert known == {
        "url": "http://news.example/a?from=mail",
        "author": "Ngozi Okafor",
        "date": "2026-11-02",
        "language": "en",
        "site_name": "The Daily Loopback",
    }


@pytest.mark.parametrize(
    ("markup", "content_type", "failure_class"),
    [("<html><body></body></html>", "text/html", "empty"), ("%PDF", "application/pdf", "not_html")],
)
async def test_a_page_without_an_article_is_a_failure(
    act: Any, page: Any, markup: str, content_type: str, failure_class: str
) -> None:
    with pytest.raises(ActorError) as caught:
        await act(ArticleActor, page=page(markup, content_type=content_type))
    assert caught.value.failure_class == failure_class


async def test_a_page_of_too_many_tags_is_no_article(act: Any, page: Any) -> None:
    with pytest.raises(ActorError, match="has 60,002 tags; the limit for an article is 60,000") as caught:
        await act(ArticleActor, page=page("<p>a</p>" * 30_001))
    assert caught.value.failure_class == "too_large"


@pytest.mark.parametrize("mark", ["{", "[", "("])
async def test_a_page_that_keeps_the_library_busy_for_minutes_is_no_article(
    act: Any, page: Any, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated, "CPU_S", 1)
    head = f'<meta name="author" content="{mark * 50_000}">'
    with pytest.raises(ActorError, match="took more than 1 s of CPU time") as caught:
        await act(ArticleActor, page=page(article().replace("<head>", f"<head>{head}")))
    assert caught.value.failure_class == "too_large"
