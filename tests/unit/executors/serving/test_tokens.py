"""The token of a server."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agentic.core.settings import load_settings
from agentic.executors.serving import load_token, make_token
from agentic.executors.serving.errors import ServeTokenError
from agentic.executors.serving.tokens import TOKEN_FILE


def test_a_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home")
    token = load_token(settings)
    assert len(token) >= 43
    assert load_token(settings) == token
    assert stat.S_IMODE((tmp_path / "home" / TOKEN_FILE).stat().st_mode) == 0o600


def test_the_setting_comes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = make_token()
    monkeypatch.setenv("AGENTIC_SERVE_TOKEN", token)
    settings = load_settings(home=tmp_path)
    assert load_token(settings) == token
    assert token not in repr(settings)
    assert not (tmp_path / TOKEN_FILE).exists()


@pytest.mark.parametrize("weak", ["hunter2", "a" * 31, "a" * 20 + " " + "a" * 20, "é" * 40])
def test_a_weak_token_is_refused_without_being_shown(
    weak: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_SERVE_TOKEN", weak)
    with pytest.raises(ServeTokenError, match="AGENTIC_SERVE_TOKEN") as refused:
        load_token(load_settings(home=tmp_path))
    assert weak not in str(refused.value)


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path)
    load_token(settings)
    (tmp_path / TOKEN_FILE).chmod(0o644)
    with pytest.raises(ServeTokenError, match="other users can read"):
        load_token(settings)
