"""The table of failures that a run ends with."""

from __future__ import annotations

from rich.console import Console

from agentic.core.http import FetchError
from agentic.executors.commands.shared.failures import print_failures
from agentic.executors.reports.facts import FailureExample, FailureFacts

URL = "http://shop.example/a"


def printed(*examples: FailureExample) -> str:
    console = Console(width=80)
    with console.capture() as captured:
        print_failures([FailureFacts(failure_class="http_403", count=3, examples=examples)], console)
    return " ".join(captured.get().split())


def test_an_address_is_named_once() -> None:
    said = printed(FailureExample(subject=URL, message=str(FetchError(URL, "http_403", "it said no"))))
    assert said.endswith(f"http_403 3 {URL} it said no")


def test_other_messages_are_whole() -> None:
    message = f"field 'a': 'h1' matches nothing on {URL}"
    assert printed(FailureExample(subject=URL, message=message)).endswith(f"{URL} {message}")
    assert printed(FailureExample(subject="", message="it said no")).endswith("http_403 3 it said no")
    assert printed().endswith("http_403 3")
