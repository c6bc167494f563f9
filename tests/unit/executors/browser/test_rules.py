"""Small decisions: which browser, what is held back, what an error means, how long."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentic.core.browser import BrowserUnavailableError
from agentic.executors.browser.executable import find_executable
from agentic.executors.browser.faults import net_failure
from agentic.executors.browser.interception import patterns
from agentic.executors.browser.visit import TimeLimit


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o700)
    return path


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def playwrights(tmp_path: Path) -> Path:
    """Return where Playwright would have put its Chromium."""
    return tmp_path / "ms-playwright" / "chromium-1255" / "chrome-linux" / "chrome"


def test_the_headless_shell_goes_before_whole_browsers(on_path: Path, playwrights: Path) -> None:
    shell = program(on_path / "chromium-headless-shell")
    program(on_path / "google-chrome")
    program(playwrights)
    assert find_executable("", playwrights) == shell


def test_any_browser_on_the_path_goes_before_playwrights_own(on_path: Path, playwrights: Path) -> None:
    program(playwrights)
    assert find_executable("", playwrights) == playwrights
    chrome = program(on_path / "google-chrome")
    assert find_executable("", playwrights) == chrome


@pytest.mark.parametrize("name", ["headless_shell", "chrome-headless-shell"])
def test_playwrights_headless_shell_is_found_beside_its_chromium(
    on_path: Path, playwrights: Path, name: str
) -> None:
    shell = program(playwrights.parents[2] / "chromium_headless_shell-1255" / "chrome-linux" / name)
    assert find_executable("", playwrights) == shell


def test_the_one_that_is_configured_is_taken(on_path: Path, playwrights: Path, tmp_path: Path) -> None:
    program(on_path / "chromium-headless-shell")
    own = program(tmp_path / "own" / "browser")
    assert find_executable(str(own), playwrights) == own


def test_no_browser_is_an_error_that_says_what_to_install(on_path: Path, playwrights: Path) -> None:
    with pytest.raises(BrowserUnavailableError, match="apt-get install chromium-headless-shell"):
        find_executable("", playwrights)
    with pytest.raises(BrowserUnavailableError, match="AGENTIC_BROWSER_PATH names 'missing'"):
        find_executable("missing", playwrights)


@pytest.mark.parametrize(
    ("error", "word"),
    [
        ("ERR_NAME_NOT_RESOLVED", "dns"),
        ("ERR_CERT_AUTHORITY_INVALID", "tls"),
        ("ERR_SSL_PROTOCOL_ERROR", "tls"),
        ("ERR_TOO_MANY_REDIRECTS", "too_many_redirects"),
        ("ERR_CONTENT_DECODING_FAILED", "decode"),
        ("ERR_UNSAFE_PORT", "invalid_url"),
        ("ERR_CONNECTION_TIMED_OUT", "timeout"),
        ("ERR_CONNECTION_RESET", "connect"),
        ("ERR_ANYTHING_ELSE", "connect"),
    ],
)
def test_an_error_of_the_network_has_a_class(error: str, word: str) -> None:
    found = net_failure(f"Page.goto: net::{error} at http://a/\nCall log: ...")
    assert found is not None
    assert found[0] == word
    assert error in found[1]


def test_other_errors_are_none_of_the_network() -> None:
    assert net_failure("Target page, context or browser has been closed") is None


def test_documents_are_always_held_back_and_other_things_as_asked() -> None:
    held = patterns(frozenset({"image"}), ["A.example", "b.example:8080", "::1"])
    assert {(p["urlPattern"], p.get("resourceType"), p["requestStage"]) for p in held} == {
        ("*", "Document", "Request"),
        ("*", "Document", "Response"),
        ("*", "Image", "Request"),
        ("*://a.example/*", None, "Request"),
        ("*://a.example:*/*", None, "Request"),
        ("*://b.example:8080/*", None, "Request"),
        ("*://b.example:8080:*/*", None, "Request"),
        ("*://[::1]/*", None, "Request"),
        ("*://[::1]:*/*", None, "Request"),
    }


async def test_a_limit_ends_what_takes_too_long() -> None:
    limit = TimeLimit(0.01)
    with pytest.raises(TimeoutError):
        async with limit.running():
            await asyncio.Event().wait()


async def test_a_limit_stands_still_in_a_pause() -> None:
    limit = TimeLimit(0.05)
    async with limit.running():
        with limit.paused():
            await asyncio.sleep(0.1)
        assert limit.elapsed_s < 0.05


async def test_a_limit_can_be_ended_early() -> None:
    limit = TimeLimit(60)
    asyncio.get_running_loop().call_soon(limit.end)
    with pytest.raises(TimeoutError):
        async with limit.running():
            await asyncio.Event().wait()
