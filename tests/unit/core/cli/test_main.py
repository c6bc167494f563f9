"""The entrance of the command line."""

from __future__ import annotations

import pytest
import typer
from typer.core import TyperGroup

from agentic.core.cli import main as entrance
from agentic.core.cli.later import only


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


def test_of_all_commands_the_one_that_is_asked_for_is_made_ready() -> None:
    whole = typer.main.get_command(entrance.build_app())
    assert isinstance(whole, TyperGroup)
    for name in whole.commands:
        narrowed = typer.main.get_command(only(entrance.build_app(), [name, "--help"]))
        assert isinstance(narrowed, TyperGroup)
        assert list(narrowed.commands) == [name]


@pytest.mark.parametrize("words", [[], ["--help"], ["--help", "runs"], ["runz"], ["Runs"]])
def test_all_commands_are_known_where_none_is_asked_for_by_its_name(words: list[str]) -> None:
    whole = entrance.build_app()
    names = [one.name for one in whole.registered_groups]
    assert [one.name for one in only(whole, words).registered_groups] == names
