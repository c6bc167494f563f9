"""The entrance of the command line."""

from __future__ import annotations

import re

import pytest
import typer
from tests.integration.executors.access.attempts import commands
from typer.core import TyperGroup

from agentic.core.cli import main as entrance
from agentic.core.cli.later import only
from agentic.core.cli.overview import HINTS, PANELS, hint_for


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


def test_help_lists_each_command_in_a_panel_the_most_usual_ones_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["agentic", "--help"])
    with pytest.raises(SystemExit):
        entrance.main()
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    panels = [line.strip("╭─╮ ") for line in lines if line.startswith("╭")]
    assert panels == ["Options", *PANELS]
    first = next(place for place, line in enumerate(lines) if "Read sites" in line)
    assert [line.split()[1] for line in lines[first + 1 : first + 4]] == ["run", "pipelines", "agents"]
    assert "docs/explanation/glossary.md" in shown


@pytest.mark.parametrize("word", sorted(HINTS))
def test_a_word_of_another_tool_is_answered_with_commands_that_exist(word: str) -> None:
    known = commands()
    quoted = re.findall("`agentic ([^`]+)`", HINTS[word])
    assert quoted or "pip install" in HINTS[word]
    for words in map(str.split, quoted):
        assert words[0].startswith("--") or " ".join(words[:2]) in known or words[0] in known


@pytest.mark.parametrize(("word", "said"), [("crawl", "runs a pipeline"), ("run", None), ("runz", None)])
def test_only_words_that_are_not_commands_are_answered(word: str, said: str | None) -> None:
    hint = hint_for(entrance.build_app(), ["-v", word, "shop.yaml"])
    assert (hint is None) == (said is None)
    assert said is None or said in str(hint)
