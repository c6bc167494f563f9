"""Names that tests of Python use and their module does not have."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.coding.languages.fitting import find_misfits, main

CODE = """
import math
from enum import Enum

LIMIT: int = 3
try:
    import json as fast
except ImportError:
    fast = None


class State(Enum):
    ON = 1

    def next(self): ...


@decorated
class Odd: ...


class Derived(Unknown): ...


async def run(): ...


def count():
    global counter
    counter = 1
"""


@pytest.mark.requirement("LG10")
@pytest.mark.parametrize(
    ("tests", "found"),
    [
        ("from main import State, run, LIMIT, fast, counter, math as m, Odd", []),
        ("from main import *\nstart()", []),
        ("from other import stop", []),
        ("import main\nmain.run()\nmain.State.ON.value", []),
        ("from main import State\nState.ON\nState.next\nState.__members__\nState.ON.name\nState['ON']", []),
        ("from main import Odd, Derived\nOdd.x\nDerived.y", []),  # only a run finds out
        (
            "def test():\n    from main import stop",
            [(2, "missing-name", "the tests import 'stop', which main.py")],
        ),
        ("import main as m\nm.stop()", [(2, "missing-name", "the tests use 'main.stop'")]),
        (
            "import main\nfrom main import State as S\nassert S.OFF\nmain.State.HALF",
            [
                (3, "missing-member", "'State.OFF', but State has no 'OFF'"),
                (4, "missing-member", "'State.HALF'"),
            ],
        ),
        ("def (", [(1, "SyntaxError", "invalid syntax")]),
    ],
)
def test_names_that_do_not_fit_are_found(tests: str, found: list[tuple[int, str, str]]) -> None:
    misfits = find_misfits(CODE, tests)
    assert [(line, code) for _, line, _, code, _ in misfits] == [(line, code) for line, code, _ in found]
    assert all(text in misfit[4] for misfit, (_, _, text) in zip(misfits, found, strict=True))


@pytest.mark.parametrize("code", ["from os import *", "def __getattr__(name): ...", "globals()['stop'] = 1"])
def test_a_module_whose_names_only_a_run_knows_fits_to_all_tests(code: str) -> None:
    assert find_misfits(code, "from main import stop") == []


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_are_compared(code: str, tests: str) -> None:
    for file, line, column, _, text in find_misfits(code, tests):
        assert file in {"main.py", "test_main.py"}
        assert line >= 0
        assert column >= 0
        assert text


def test_the_script_prints_json(
    tmp_path: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    for name, text in (("main.py", "x = 1\n"), ("test_main.py", "from main import y\n")):
        with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
    assert main(["main.py", "test_main.py"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert found[:4] == ["test_main.py", 1, 18, "missing-name"]
    assert main(["main.py", "main.py"]) == 0
