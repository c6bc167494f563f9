"""What is said to a browser, and what it answers."""

from __future__ import annotations

import pytest
from pydantic import SecretStr, TypeAdapter, ValidationError

from agentic.core.browser import BrowserStep, Click, Fill, Press, RenderedPage, Scroll, Viewport, WaitFor
from agentic.core.http import Headers

STEPS: TypeAdapter[list[BrowserStep]] = TypeAdapter(list[BrowserStep])


def test_steps_are_read_from_data() -> None:
    data = [
        {"type": "fill", "selector": "#user", "value": "ada"},
        {"type": "press", "selector": "#user", "key": "Enter"},
        {"type": "wait_for", "selector": "h1"},
        {"type": "click", "selector": "button", "times": 3},
        {"type": "scroll", "times": 2},
    ]
    assert STEPS.validate_python(data) == [
        Fill(selector="#user", value="ada"),
        Press(selector="#user", key="Enter"),
        WaitFor(selector="h1"),
        Click(selector="button", times=3),
        Scroll(times=2),
    ]


@pytest.mark.parametrize(
    "step",
    [
        {"type": "evaluate", "script": "1"},
        {"type": "click", "selector": ""},
        {"type": "click", "selector": "a", "times": 0},
        {"type": "wait_for", "selector": "a", "timeout": 3},
    ],
)
def test_what_is_no_step_is_refused(step: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        STEPS.validate_python([step])


def test_a_secret_is_shown_nowhere() -> None:
    step = Fill(selector="#password", value=SecretStr("hidden"))
    assert "hidden" not in repr(step) + step.model_dump_json()


def test_a_window_has_a_size() -> None:
    with pytest.raises(ValidationError):
        Viewport(width=0)


def page(content_type: str) -> RenderedPage:
    fields = [("Content-Type", content_type), ("Content-Encoding", "gzip"), ("ETag", "x")]
    return RenderedPage(
        url="http://a/", status=200, headers=Headers(fields), html="<p>café", storage=["hidden"]
    )


def test_what_was_rendered_is_read_as_utf_8_whatever_the_site_had_said() -> None:
    answer = page("text/html; charset=latin-1").as_response()
    assert answer.text == "<p>café"
    assert answer.content_type == "text/html"


def test_headers_that_are_no_longer_true_are_left_out() -> None:
    assert dict(page("text/html").as_response().headers) == {
        "etag": "x",
        "content-type": "text/html; charset=utf-8",
    }


def test_pages_and_storage_are_kept_out_of_logs() -> None:
    assert "café" not in repr(page("text/html"))
    assert "hidden" not in repr(page("text/html"))
