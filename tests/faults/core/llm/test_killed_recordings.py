"""Recordings of processes that are killed in the middle of a write."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from agentic.core.llm import ChatMessage, FunctionModel, ModelRequest, ReplayModel

pytestmark = [pytest.mark.faults, pytest.mark.requirement("LM01")]

REPLY = "y" * 1_000_000
"""Large enough for a kill to hit a write."""

_RECORDER = """
    import asyncio, sys
    from agentic.core.llm import ChatMessage, FunctionModel, ModelRequest, ReplayModel
    from tests.faults.core.llm.test_killed_recordings import REPLY, asked

    async def main():
        model = ReplayModel(sys.argv[1], FunctionModel(lambda _: REPLY), mode="record")
        number = 0
        while True:
            await model.complete(asked(sys.argv[2], number))
            print(number, flush=True)
            number += 1

    asyncio.run(main())
"""


def asked(recorder: str, number: int) -> ModelRequest:
    return ModelRequest(instructions=recorder, messages=(ChatMessage.user(f"question {number}"),))


@contextmanager
def recording(path: Path, recorder: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that records one reply after the other and prints the number of each."""
    arguments = [sys.executable, "-c", dedent(_RECORDER), str(path), recorder]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def read_numbers(process: subprocess.Popen[str], count: int) -> None:
    assert process.stdout is not None
    for _ in range(count):
        assert process.stdout.readline()


@pytest.mark.slow
async def test_replies_that_were_recorded_before_a_kill_are_replayed_and_others_go_on(tmp_path: Path) -> None:
    path, kept = tmp_path / "replies.jsonl", dict[str, int]()
    for round_number, delay_s in enumerate((0.0, 0.001, 0.003)):
        killed, other = f"killed {round_number}", f"other {round_number}"
        with recording(path, killed) as first, recording(path, other) as second:
            await asyncio.to_thread(read_numbers, first, 3)
            await asyncio.sleep(delay_s)
            first.kill()
            await asyncio.to_thread(read_numbers, second, 3)  # beside and after the kill
        kept |= {killed: 3, other: 3}
    replay = ReplayModel(path, FunctionModel(lambda _: "new"))
    for recorder, count in kept.items():
        for number in range(count):
            assert (await replay.complete(asked(recorder, number))).text == REPLY
    assert (await replay.complete(asked("nobody", 0))).text == "new"
    again = ReplayModel(path, mode="replay")
    assert (await again.complete(asked("nobody", 0))).text == "new"
