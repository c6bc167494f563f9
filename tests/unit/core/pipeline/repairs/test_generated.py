"""Many redesigns made by chance: a repair is right or unsure, and hardly ever wrong."""

from __future__ import annotations

from collections import Counter

from tests.unit.core.pipeline.repairs.generated import repaired_json, repaired_list


def test_repairs_of_lists_are_right_or_unsure() -> None:
    counts = Counter(repaired_list(seed) for seed in range(120))
    assert counts["wrong"] <= 1, counts
    assert counts["right"] >= 70, counts


def test_repairs_of_json_are_right_or_unsure() -> None:
    counts = Counter(result for seed in range(120) for result in repaired_json(seed).values())
    assert counts["wrong"] == 0, counts
    assert counts["right"] >= 450, counts
