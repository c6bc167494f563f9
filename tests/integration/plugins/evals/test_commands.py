"""``agentic evals``, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.databases import only_sqlite
from tests.integration.plugins.evals.conftest import done
from tests.integration.plugins.evals.test_executor import LABELS

from agentic.core.errors import AgenticError
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from tests.integration.plugins.evals.conftest import Line

pytestmark = [pytest.mark.integration, only_sqlite]


WRONG = (
    (("run", "gone.yaml"), r"gone\.yaml is invalid: it cannot be read"),
    (("run", "shouts.yaml", "--record", "--replay"), "give one of them"),
    (("run", "shouts.yaml", "--resume", "--dispatcher", "celery"), "workers continue killed runs"),
    (("run", "shouts.yaml", "--model", "x"), "PROVIDER:NAME"),
    (("run", "shouts.yaml", "--model", "fake:x"), "has no model to replace"),
    (("run", "shouts.yaml", "--name", "a/b"), "the options do not fit: name"),
    (("show", "nothing"), "no evaluation and no run of one is called 'nothing'"),
    (("show", ""), "no evaluation and no run"),
    (("show", "shouts", "--case", "x"), "has no case 'x'"),
)


def test_a_run_prints_averages_and_the_cases_that_did_not_pass(line: Line) -> None:
    line.write()
    told = line("run", "shouts.yaml")
    assert "shouts: 1 of 2 tries passed (50.0%)" in told
    assert "exact       0.500     1 of 2" in told
    assert "tea    missed   0.50    exact: 'TEA' is not 'COFFEE'" in told
    assert all(len(row) <= 80 for row in told.splitlines())


def test_exit_codes_tell_limits_from_failed_cases(line: Line) -> None:
    line.write(limits={"passed": 0.9})
    with pytest.raises(AgenticError, match=r"passed is 0\.5, below 0\.9"):
        line("run", "shouts.yaml")
    line.write(cases=[{"id": "bad", "input": "broken"}, {"id": "a", "input": "a", "expected": "A"}])
    result = line.run("run", "shouts.yaml")
    assert result.exit_code == 4
    assert "bad    connect   0.00    no line" in result.stdout


def test_scripts_read_json(line: Line) -> None:
    line.write()
    ran = line.data("run", "shouts.yaml")
    assert (ran["status"], ran["summary"]["averages"]["exact"]) == ("succeeded", 0.5)
    assert [one["case_id"] for one in ran["results"]] == ["lamp", "tea"]
    (listed,) = line.data("list")
    assert (listed["run"], listed["evaluation"], listed["passed"], listed["tries"]) == (
        ran["execution_id"],
        "shouts",
        1,
        2,
    )
    assert line.data("show", "shouts")["summary"] == ran["summary"]
    (case,) = line.data("show", ran["execution_id"][:12], "--case", "tea")
    assert (case["answer"], case["status"]) == ("TEA", "missed")


def test_a_case_is_shown_whole(line: Line) -> None:
    line.write()
    line("run", "shouts.yaml")
    told = line("show", "shouts", "--case", "tea")
    assert "answer    TEA" in told
    assert "exact     0 ('TEA' is not 'COFFEE')" in told
    assert "lamp" in line("show", "shouts", "--all")


def test_two_models_are_compared_case_by_case(line: Line, folder: Path) -> None:
    (folder / "lamp.yaml").write_text("- answer: {label: lamp}\n")
    cases: list[JSONValue] = [{"id": n, "input": n, "expected": n} for n in ("lamp", "tea")]
    line.write(task=LABELS, cases=cases, evaluators=["exact"])
    line("run", "shouts.yaml")
    line("run", "shouts.yaml", "--model", "scripted:lamp.yaml", "--name", "cheap")
    found = line.data("compare", "shouts", "cheap")
    assert [(one["name"], one["difference"]) for one in found["scores"]] == [
        ("passed", -0.5),
        ("exact", -0.5),
    ]
    assert [one["case_id"] for one in found["worse"]] == ["tea"]
    told = line("compare", "shouts", "cheap")
    assert "tea    exact 1.00 -> 0.00" in told
    assert line.run("compare", "shouts", "cheap", "--fail-if-worse", "0.6").exit_code == 0
    assert line.run("compare", "shouts", "cheap", "--fail-if-worse", "0").exit_code == 1
    assert line.run("compare", "cheap", "shouts", "--fail-if-worse", "0").exit_code == 0


def test_a_name_with_a_number_is_an_earlier_run(line: Line) -> None:
    line.write()
    first = line.data("run", "shouts.yaml")["execution_id"]
    second = line.data("run", "shouts.yaml", "--repeats", "2")["execution_id"]
    assert line.data("show", "shouts")["run"] == second
    assert line.data("show", "shouts~1")["run"] == first
    assert line.data("compare", "shouts~1", "shouts")["worse"] == []
    with pytest.raises(AgenticError, match="has 2 runs; ~2 is before the first one"):
        line("show", "shouts~2")


def test_recorded_replies_make_the_second_run_free(line: Line, folder: Path) -> None:
    line.write(task=LABELS, cases=[{"id": "a", "input": "lamp", "expected": "lamp"}], evaluators=["exact"])
    line("run", "shouts.yaml", "--record")
    recorded = list((folder / "shouts.recordings").rglob("*.jsonl"))
    assert len(recorded) == 1
    again = line.data("run", "shouts.yaml", "--replay")
    assert again["summary"]["averages"]["exact"] == 1.0
    recorded[0].unlink()
    with pytest.raises(AgenticError, match="all 1 tries failed: 1 not_recorded"):
        line("run", "shouts.yaml", "--replay")


def test_the_rows_of_a_run_are_deleted_and_no_other_rows(line: Line) -> None:
    line.write()
    first = line.data("run", "shouts.yaml")["execution_id"]
    second = line.data("run", "shouts.yaml")["execution_id"]
    assert line("delete", "shouts~1", "--yes") == f"deleted 2 rows of run {first[:12]} of shouts\n"
    assert [one["run"] for one in line.data("list")] == [second]
    assert line.run("delete", "shouts").exit_code == 1


def test_resume_continues_only_a_run_that_has_not_ended(line: Line, folder: Path) -> None:
    line.write()
    line("run", "shouts.yaml")
    with pytest.raises(AgenticError, match="has no run to continue"):
        line("run", "shouts.yaml", "--resume")
    assert len(done(folder)) == 2


def test_wrong_words_are_refused_with_the_next_step(line: Line) -> None:
    line.write()
    line("run", "shouts.yaml")
    for words, told in WRONG:
        with pytest.raises(AgenticError, match=told):
            line(*words)


def test_faults_of_cases_are_reported_before_anything_runs(line: Line, folder: Path) -> None:
    (folder / "cases.jsonl").write_text('{"input": "a"}\n')
    line.write(cases="cases.jsonl")
    with pytest.raises(AgenticError, match=r"no case of .* has it; add it"):
        line("run", "shouts.yaml")
    assert done(folder) == []


def test_an_agent_of_another_platform_keeps_its_name(line: Line) -> None:
    from tests.commands import invoke

    from agentic.core.cli.main import build_app

    invoke(build_app(), ("agents", "add", "shouts", "--platform", "hackernews"))
    line.write()
    with pytest.raises(AgenticError, match="belongs to platform 'hackernews'; give the evaluation another"):
        line("run", "shouts.yaml")
