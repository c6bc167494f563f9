"""A worker is killed while it compiles the program of a model: another process compiles it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.faults.executors.programming import ASKED, KILLED, load_example

if TYPE_CHECKING:
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]


@pytest.mark.requirement("XA01", "SC01")
def test_a_program_whose_compiler_dies_with_its_worker_is_compiled_again_and_no_model_is_asked_again(
    scene: Scene,
) -> None:
    example = load_example()
    handle = scene.submit("tests.faults.executors.programming:state_machine", example.REQUEST)
    scene.until_ended()
    assert handle.result().outputs[-1] == f"{example.TYPES}\n{example.RIGHT}"
    assert (scene.place.path / KILLED).read_text().isdecimal()
    assert scene.read("SELECT executor_id, crashes FROM activations WHERE crashes > 0") == [
        ("compile_val", 1)
    ]
    asked = (scene.place.path / ASKED).read_text().split()
    assert (len(asked), len(set(asked))) == (5, 5)  # types, tests and three drafts, each once
