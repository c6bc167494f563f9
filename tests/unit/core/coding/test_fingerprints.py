from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.coding import CodeFinding, CodeFingerprinter, feedback_of
from agentic.core.llm import ErrorFingerprinter

FINGERPRINTER = CodeFingerprinter()
names = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
places = st.integers(1, 99_999)


def missing(name: str, line: int, column: int, file: str = "main.ts") -> CodeFinding:
    return CodeFinding(file=file, line=line, column=column, code="TS2304", text=f"Cannot find name '{name}'.")


@pytest.mark.requirement("LG04")
@given(names, names, places, places, places)
def test_a_fault_has_one_fingerprint_at_any_place_and_under_any_name(
    name: str, other: str, line: int, column: int, elsewhere: int
) -> None:
    one, two = missing(name, line, column), missing(other, elsewhere, column, f"{other}.ts")
    assert FINGERPRINTER.of([one]) == FINGERPRINTER.of([two])
    assert FINGERPRINTER.of([one]).key == "TS2304: Cannot find name _."
    assert FINGERPRINTER.fingerprint(str(one)) == FINGERPRINTER.of([two])
    code = {"main.ts": f"let {name} = 1\n" * min(line, 50)}
    assert FINGERPRINTER.fingerprint(feedback_of("Failed:", [one], code)) == FINGERPRINTER.of([two])


@pytest.mark.requirement("LG04")
def test_different_faults_have_different_fingerprints() -> None:
    found = [
        missing("a", 1, 1),
        CodeFinding(file="main.ts", line=1, code="TS2322", text="Type 'string' is not assignable."),
        CodeFinding(file="main.py", line=1, code="SyntaxError", text="expected ':'"),
        CodeFinding(file="main.py", test="test_a", text="AssertionError: assert 6 == 4"),
    ]
    assert len({FINGERPRINTER.of([one]).key for one in found}) == 4
    assert FINGERPRINTER.of(found).key == FINGERPRINTER.of(found[::-1]).key


@pytest.mark.requirement("LG04")
@pytest.mark.parametrize(
    ("findings", "is_complex"),
    [
        ([missing("a", 1, 1)], False),
        ([missing(name, 1, 1) for name in "abcdefgh"], False),  # one fault, many times
        ([CodeFinding(code=f"TS{number}", text=letter) for number, letter in enumerate("abcdef")], True),
        ([CodeFinding(code="E0502", text="cannot borrow `x` as mutable")], True),
        ([CodeFinding(test="test_it", text="assert 3 == 4")], True),
        ([], False),
    ],
)
def test_faults_of_logic_and_ownership_and_many_faults_are_complex(
    findings: list[CodeFinding], is_complex: bool
) -> None:
    fingerprinter: ErrorFingerprinter = FINGERPRINTER
    assert FINGERPRINTER.of(findings).is_complex is is_complex
    text = "\n".join(f"- {finding}" for finding in findings)
    assert fingerprinter.fingerprint(text).is_complex is is_complex


@given(st.text(max_size=2_000))
def test_any_text_has_a_fingerprint(text: str) -> None:
    found = FINGERPRINTER.fingerprint(text)
    assert len(found.key) <= 400
    assert found == FINGERPRINTER.fingerprint(text)
