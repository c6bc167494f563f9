"""The entrance of the command line."""

from __future__ import annotations

import pytest

from agentic.core.cli import main as entrance


def test_a_ctrl_c_while_plugins_load_is_one_line_and_exit_code_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(entrance, "build_app", interrupted)
    monkeypatch.setattr("sys.excepthook", None)
    with pytest.raises(SystemExit) as ended:
        entrance.main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "agentic: interrupted\n")
