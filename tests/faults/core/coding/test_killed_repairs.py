"""Repairs whose process is killed while a compiler or a test runs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.commands import start_program

from agentic.mappers import Database, add_project

pytestmark = [pytest.mark.faults, pytest.mark.integration]

_PROGRAM = """
    import asyncio, os, signal, sys
    from pathlib import Path
    from agentic.core.coding import CompileOutput, GeneratedCode, GeneratorInput
    from agentic.core.coding import RepairEngine, RepairResult, ValidatorOutput
    from agentic.core.graph import CheckpointNotFoundError, Executor, handler
    from agentic.core.llm import FunctionModel
    from agentic.mappers import Database, SqlCheckpointStore

    folder, project_id = Path(sys.argv[1]), sys.argv[2]
    DRAFTS = ["x =", "x = 1", "x = 2"]

    def count(name):
        with (folder / name).open("a") as file:
            file.write(".")
            return file.tell()

    class Check(Executor):
        @handler
        async def on_code(self, given: GeneratedCode | ValidatorOutput) -> CompileOutput:
            if count("checks") in {1, 3, 6}:
                os.kill(os.getpid(), signal.SIGKILL)
            passed = given.code.strip() in (DRAFTS[1:] if self.id == "compile" else DRAFTS[2:])
            errors = () if passed else (f"{self.id} failed",)
            return CompileOutput(code=given.code, language="python", passed=passed, errors=errors)

    async def main():
        model = FunctionModel(lambda _: DRAFTS[count("asked") - 1])
        engine = RepairEngine("repair", model, [Check("compile"), Check("test")])
        store = SqlCheckpointStore(Database(f"sqlite:///{folder}/data.db"), project_id=project_id)
        try:
            run = await engine.workflow.resume("r", checkpoints=store)
        except CheckpointNotFoundError:
            task = GeneratorInput.new("Double", "python")
            run = await engine.workflow.run(task, run_id="r", checkpoints=store)
        result = run.output(RepairResult)
        asked, checks = (folder / "asked").stat().st_size, (folder / "checks").stat().st_size
        print(result.ended, result.rounds, asked, checks)

    asyncio.run(main())
"""


@pytest.mark.requirement("LG05", "LE04")
def test_a_killed_repair_goes_on_without_asking_the_model_again(migrated_file: Path, tmp_path: Path) -> None:
    """Killed in the first compile step, in the second one, and in the tests of the last draft."""
    (tmp_path / "data.db").write_bytes(migrated_file.read_bytes())
    database = Database(f"sqlite:///{tmp_path / 'data.db'}")
    with database.writing() as session:
        project_id = add_project(session, "ours").id
    database.dispose()
    said = ""
    for expected in (-signal.SIGKILL, -signal.SIGKILL, -signal.SIGKILL, 0):
        command = start_program(_PROGRAM, [str(tmp_path), project_id], os.environ, tmp_path)
        said, faults = command.communicate(timeout=60)
        assert command.returncode == expected, faults
    assert said.split() == ["passed", "3", "3", "8"]  # three drafts, asked for three times
