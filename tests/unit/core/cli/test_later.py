"""Commands that are loaded when they are called."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType

import pytest
import typer
from tests.commands import invoke
from typer.core import TyperGroup
from typer.testing import CliRunner

from agentic.core.cli.later import add_command_at, add_group_at, only
from agentic.core.cli.main import build_app

COMPANY = "tests_later_company"


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """A command line with a command and a group that are loaded later, and a command of a plugin."""
    module = ModuleType(COMPANY)
    group = typer.Typer(help="Keep books.", no_args_is_help=True)

    @group.command()
    def close(year: int) -> None:
        """Close a year."""
        typer.echo(f"closed {year}")

    @group.command()
    def audit() -> None:
        """Audit."""

    def greet(name: str) -> None:
        """Greet somebody.

        By name.
        """
        typer.echo(f"hello {name}")

    def plain() -> None:
        """Do a thing of a plugin."""
        typer.echo("plain")

    vars(module).update(greet=greet, books=group)
    monkeypatch.setitem(sys.modules, COMPANY, module)
    app = typer.Typer()
    app.callback()(lambda: None)
    add_command_at(app, f"{COMPANY}:greet", name="greet", help="Greet somebody.")
    app.command()(plain)
    add_group_at(app, f"{COMPANY}:books", name="books", help="Keep books.")
    add_group_at(app, f"{COMPANY}:books", name="ledgers", help="Keep books.", hidden=True)
    return app


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["greet", "Ada"], "hello Ada"),
        (["plain"], "plain"),
        (["books", "close", "2025"], "closed 2025"),
        (["ledgers", "close", "2025"], "closed 2025"),
        (["greet", "--help"], "By name."),
        (["books", "close", "--help"], "Close a year."),
    ],
)
def test_a_command_runs_as_if_it_had_been_loaded_at_once(
    app: typer.Typer, words: list[str], said: str
) -> None:
    result = invoke(app, words)
    assert (result.exit_code, said in result.output) == (0, True)


@pytest.mark.parametrize("words", [["--help"], ["books"], ["books", "--help"], ["book"], ["books", "clos"]])
def test_help_and_wrong_words_look_the_same_as_with_all_loaded(app: typer.Typer, words: list[str]) -> None:
    whole = CliRunner().invoke(app, words)
    narrowed = CliRunner().invoke(only(app, words), words)
    assert (narrowed.exit_code, narrowed.output) == (whole.exit_code, whole.output)


def test_for_help_nothing_is_loaded(app: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, COMPANY)
    result = invoke(app, ["--help"])
    assert result.exit_code == 0
    assert all(
        word in result.output for word in ("greet", "Greet somebody.", "books", "Keep books.", "plain")
    )
    assert "ledgers" not in result.output


def test_a_command_that_cannot_be_loaded_says_why_when_it_is_called(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, COMPANY)
    assert invoke(app, ["plain"]).exception is None
    with pytest.raises(ModuleNotFoundError, match=COMPANY):
        only(app, ["books", "close"])


def test_the_help_of_each_installed_command_is_that_of_its_docstring() -> None:
    whole, named = typer.main.get_command(build_app()), typer.main.get_command(only(build_app(), ["--help"]))
    assert isinstance(whole, TyperGroup)
    assert isinstance(named, TyperGroup)
    assert _helps(named) == _helps(whole)


@pytest.mark.parametrize("group", ["executions", "pipelines"])
def test_the_help_of_each_command_in_a_group_is_that_of_its_docstring(group: str) -> None:
    whole = typer.main.get_command(build_app())
    named = typer.main.get_command(only(build_app(), [group, "--help"]))
    assert isinstance(whole, TyperGroup)
    assert isinstance(named, TyperGroup)
    inner, known = named.commands[group], whole.commands[group]
    assert isinstance(inner, TyperGroup)
    assert isinstance(known, TyperGroup)
    assert _helps(inner) == _helps(known)


def _helps(group: TyperGroup) -> list[tuple[str, str, bool]]:
    """Return names and first paragraphs in order, which help lists."""
    return [
        (name, " ".join(inspect.cleandoc(one.help or "").partition("\n\n")[0].split()), one.hidden)
        for name, one in group.commands.items()
    ]
