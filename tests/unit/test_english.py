"""Plain English: texts that people read lose the phrases below, file by file, and never gain one.

``english.json`` records how many phrases each file has. After a rewrite, lower the record::

    python -m tests.unit.test_english
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("english.json")
PACKAGES = ("core", "executors", "fakes", "mappers", "migrations", "plugins")

# The phrases to avoid, and the words that most readers expect in their place.
PHRASES = {
    r"\bwhat (?:came|comes|became|becomes) (?:of|to)\b|\bcomes of\b": "the result",
    r"\b(?:is|are|was|were) (?:no (?!longer|more than|one|way|need)\w+|none\b)": "is not a ...",
    r"\bany more\b|\bno more\b": "no longer",
    r"\b[Ww]hoever\b|\bwho (?:asks|waits|wants|runs|looks|had)\b": "name the role: users, a reviewer",
    r"\b(?:go|goes|going|went|gone) on\b": "continues",
    r"\b(?:see|sees|seen|seeing) to\b": "handles, ensures",
    r"\b(?:tell|tells|told|telling)\b": "says, shows, reports",
    r"\banew\b": "again",
    r", as (?:it|they|that|this|the|nobody|what|its|there)\b": "because",
    r"\bso (?:many|long|often|much)\b(?! as| that)": "the number",
    r"\b(?:at|in) hand\b": "available",
    r"\b(?:[Nn]obody|[Ss]omebody)\b": "no process, a user: name the role",
    r"\banyhow\b": "anyway, or leave it out",
    r"\bunder way\b": "running, in progress",
    r"\b(?:given|gives|give|gave) up\b": "stops, fails",
    r"(?<![^\s(:;,])[Ww]hat (?:is|was|are|were|an?|the|it|they|has|have|had|runs|did|does|goes)\b": "a noun",
    r"\b(?:[Tt]hose|that) (?:of|who|which|whose)\b": "repeat the noun",
    r"\b(?:of|in|for|to|by|with|under|through) (?:which|whom|whose)\b": "two sentences",
    r"\b[Ll]ets? (?:an?|the|it|them|others|nobody|somebody|who|whoever|people)\b": "allows, can",
    r"\b(?:is|are|was|were) to be\b": "must be",
}
PATTERNS = {re.compile(phrase.replace(" ", r"\s+")): better for phrase, better in PHRASES.items()}
STRINGS = re.compile(r'#[^\n]*|"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
JOINTS = re.compile(r'(?<!")" *\n +[fr]*"(?!")')


def text_of(path: Path) -> str:
    """Return what people read in a file: a page, or the strings of a module without code and comments."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return source
    joined = JOINTS.sub("", source)
    strings = [found for found in STRINGS.findall(joined) if found[0] == '"' and found.count(" ") > 2]
    return "\n\n".join(strings)


def count(text: str) -> int:
    return sum(len(pattern.findall(text)) for pattern in PATTERNS)


def files() -> Iterator[Path]:
    """Yield the files whose texts are counted: the documentation and the packages."""
    yield from ROOT.glob("*.md")
    yield from (page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)
    yield from (ROOT / "changelog").glob("*.md")
    for package in PACKAGES:
        yield from (ROOT / package / "agentic").rglob("*.py")


def counted() -> dict[str, int]:
    """Return the files that have such phrases, and how many each has."""
    found = {str(path.relative_to(ROOT)): count(text_of(path)) for path in files()}
    return {name: found[name] for name in sorted(found) if found[name]}


def recorded() -> dict[str, int]:
    record: dict[str, int] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def risen(now: Mapping[str, int], record: Mapping[str, int]) -> dict[str, int]:
    """Return by how much files exceed their record.

    A file without a record starts from zero. Text may move, though: the record of files that no longer
    exist covers the same number of phrases elsewhere.
    """
    more = {name: count - record.get(name, 0) for name, count in now.items() if count > record.get(name, 0)}
    moved = sum(count for name, count in record.items() if not (ROOT / name).exists())
    return more if sum(more.values()) > moved else {}


def described(name: str) -> Iterator[str]:
    """Yield each phrase of a file and a better one."""
    text = text_of(ROOT / name)
    for pattern, better in PATTERNS.items():
        for match in pattern.finditer(text):
            around = text[max(0, match.start() - 30) : match.end() + 30]
            yield f"  {' '.join(around.split())!r}: {' '.join(match[0].split())!r} -> {better}"


def lower() -> None:
    """Write today's counts, unless there are more phrases in all than on record."""
    now, record = counted(), recorded()
    if sum(now.values()) > sum(record.values()):
        raise SystemExit(f"{sum(now.values())} phrases, {sum(record.values())} on record: rewrite some first")
    RECORD.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{RECORD.name}: {sum(record.values())} -> {sum(now.values())} phrases\n")


def test_no_file_has_more_stumbling_phrases_than_its_record() -> None:
    record = recorded()
    more = risen(counted(), record)
    report = [
        f"{name}: {record.get(name, 0) + extra} phrases, {record.get(name, 0)} on record\n"
        + "\n".join(described(name))
        for name, extra in more.items()
    ]
    assert not more, "say it in plain English (CONTRIBUTING.md):\n" + "\n".join(report)


@pytest.mark.parametrize(
    ("now", "record", "expected"),
    [
        ({"README.md": 3}, {"README.md": 3}, {}),
        ({"README.md": 2}, {"README.md": 3}, {}),
        ({"README.md": 4}, {"README.md": 3}, {"README.md": 1}),
        ({"README.md": 4, "LICENSE": 0}, {"README.md": 3, "LICENSE": 9}, {"README.md": 1}),
        ({"new.md": 1}, {}, {"new.md": 1}),
        ({"new.md": 2}, {"gone.md": 2}, {}),
        ({"new.md": 1, "README.md": 4}, {"gone.md": 2, "README.md": 3}, {}),
        ({"new.md": 3}, {"gone.md": 2}, {"new.md": 3}),
    ],
    ids=["same", "fewer", "more", "fewer elsewhere", "new file", "moved", "merged", "moved and more"],
)
def test_counts_may_fall_and_move_but_not_rise(
    now: dict[str, int], record: dict[str, int], expected: dict[str, int]
) -> None:
    assert risen(now, record) == expected


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("It says what came of it.", 1),
        ("The key is no string, and nobody told us.", 3),
        ("A host goes on\nany more.", 2),
        ("The key is not a string. The run continues.", 0),
        ("There is no longer a need.", 0),
    ],
)
def test_phrases_are_found_in_sentences(text: str, phrases: int) -> None:
    assert count(text) == phrases


if __name__ == "__main__":
    lower()
