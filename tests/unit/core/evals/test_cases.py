"""Cases from files, rows and Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.evals import CaseColumns, CasesError, EvalCase, EvalDataset
from agentic.core.evals.cases import cases_of_rows, read_cases, tries_of

LINES = '{"id": "lamp", "input": "A lamp", "expected": "light"}\n\n{"input": {"a": 1}}\n'
YAML = "cases:\n- {id: 7, input: A lamp, expected: light}\n- input: {day: 2026-01-02}\n"
CSV = 'id,input,expected,price\nlamp,"A lamp, old",light,12\n'
texts = st.text(alphabet=st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_lines_of_json_are_cases_and_those_without_an_id_are_numbered(tmp_path: Path) -> None:
    found = read_cases(write(tmp_path, "a.jsonl", LINES))
    assert found == [
        EvalCase(id="lamp", input="A lamp", expected="light"),
        EvalCase(id="2", input={"a": 1}),
    ]


def test_cases_of_yaml_are_a_list_and_dates_become_text(tmp_path: Path) -> None:
    found = read_cases(write(tmp_path, "a.yaml", YAML))
    assert [case.id for case in found] == ["7", "2"]
    assert found[1].input == {"day": "2026-01-02"}


def test_other_columns_of_csv_are_metadata(tmp_path: Path) -> None:
    (case,) = read_cases(write(tmp_path, "a.csv", CSV))
    assert (case.id, case.input, case.expected) == ("lamp", "A lamp, old", "light")
    assert case.metadata == {"price": "12"}


def test_columns_name_the_parts_of_rows() -> None:
    row = {"url": "http://a", "title": "Lamp", "text": "Old", "label": "light", "n": 3}
    columns = CaseColumns(id="url", input=("title", "text"), expected="label", metadata=("n",))
    (case,) = cases_of_rows([("row 1", row)], "the rows", columns)
    assert case.input == {"title": "Lamp", "text": "Old"}
    assert (case.id, case.expected, case.metadata) == ("http://a", "light", {"n": 3})
    (rest,) = cases_of_rows([("row 1", row)], "the rows", CaseColumns(id="url", expected="label"))
    assert rest.input == {"title": "Lamp", "text": "Old", "n": 3}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.jsonl", "{", r"a\.jsonl, line 1 is not JSON"),
        ("a.jsonl", "[1]\n", r"line 1 is a list; a case is a mapping"),
        ("a.jsonl", '{"expected": 1}', r"line 1: input: Field required"),
        ("a.jsonl", '{"input": 1, "answer": 2}', r"answer: .*a case has id, input, expected, metadata"),
        ("a.jsonl", '{"id": "x", "input": 1}\n' * 2, "two cases have the id 'x'"),
        ("a.jsonl", "", "has no cases"),
        ("a.jsonl", '{"id": "a\\nb", "input": 1}', "no line breaks"),
        ("a.csv", "id,input\nx\n", "line 2: it has more or fewer cells than the head"),
        ("a.yaml", "a: 1", "is not a list of cases"),
        ("a.txt", "x", r"cases are read from \.jsonl"),
        ("gone/a.csv", None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_list_of_cases_is_refused_with_its_line(
    tmp_path: Path, name: str, text: str | None, told: str
) -> None:
    file = tmp_path / name if text is None else write(tmp_path, name, text)
    with pytest.raises(CasesError, match=told):
        read_cases(file)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(CasesError, match=r"the rows, row 1 has no column 'label' \(it has a\)"):
        cases_of_rows([("row 1", {"a": 1})], "the rows", CaseColumns(expected="label"))


@given(st.lists(texts, min_size=1, max_size=5, unique=True), st.integers(1, 4))
def test_each_case_is_tried_as_often_as_wanted(names: list[str], repeats: int) -> None:
    dataset = EvalDataset(cases=tuple(EvalCase(id=name, input=name) for name in names))
    tries = tries_of(dataset.cases, repeats)
    assert len({(one.case.id, one.repeat) for one in tries}) == len(names) * repeats == len(tries)


def test_too_many_tries_are_refused() -> None:
    with pytest.raises(CasesError, match="lower repeats"):
        tries_of([EvalCase(id=str(number), input=1) for number in range(200)], 100)
