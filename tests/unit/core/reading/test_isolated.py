"""Libraries that are called in a process that can be ended."""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import threading
import time
from collections.abc import Iterator
from typing import cast

import psutil
import pytest
from tests.conftest import Eventually

from agentic.core.reading import isolated
from agentic.core.reading.isolated import IsolatedCallError, ProcessEndedError, call_isolated
from agentic.core.types import JSONValue

HERE = "tests.unit.core.reading.test_isolated"


def echo(payload: bytes) -> JSONValue:
    return payload.decode()


def pid(_: bytes) -> JSONValue:
    return os.getpid()


def environment(_: bytes) -> JSONValue:
    return cast(JSONValue, dict(os.environ))


def prints(payload: bytes) -> JSONValue:
    sys.stdout.write("nothing that was asked for\n")
    sys.stdout.flush()
    return payload.decode()


def fails(_: bytes) -> JSONValue:
    raise KeyError("odd")


def backtracks(_: bytes) -> JSONValue:
    return re.fullmatch(r"(a|a)*b", "a" * 40) is not None


def hoards(_: bytes) -> JSONValue:
    return len(bytearray(8 * 1024**3))


def ends(_: bytes) -> JSONValue:
    os._exit(0)


def ends_badly(_: bytes) -> JSONValue:
    os._exit(3)


@pytest.fixture(autouse=True)
def _pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pool = isolated._Pool()
    monkeypatch.setattr(isolated, "_pool", pool)
    yield
    pool.close()


def test_a_function_is_called_in_another_process_that_stays() -> None:
    assert call_isolated(f"{HERE}:echo", b"x" * 3_000_000) == "x" * 3_000_000
    others = {cast(int, call_isolated(f"{HERE}:pid", b"")) for _ in range(3)}
    assert len(others) == 1
    assert os.getpid() not in others


def test_what_a_library_raises_or_prints_is_told_apart_from_answers() -> None:
    with pytest.raises(IsolatedCallError, match="KeyError: 'odd'"):
        call_isolated(f"{HERE}:fails", b"")
    assert call_isolated(f"{HERE}:prints", b"a") == "a"


def test_a_regex_that_does_not_end_ends_its_process_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    before = call_isolated(f"{HERE}:pid", b"")  # to load this module takes time as well
    with monkeypatch.context() as patch:
        patch.setattr(isolated, "CPU_S", 0.5)
        with pytest.raises(ProcessEndedError, match="took more than"):
            call_isolated(f"{HERE}:backtracks", b"")
    assert call_isolated(f"{HERE}:pid", b"") != before


def test_each_call_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    first = call_isolated(f"{HERE}:pid", b"")
    monkeypatch.setattr(isolated, "CPU_S", 1)
    assert [call_isolated(f"{HERE}:spends", b"") for _ in range(4)] == [first] * 4


def spends(_: bytes) -> JSONValue:
    begun = time.process_time()
    while time.process_time() < begun + 0.4:
        pass
    return os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the address space")
def test_more_memory_than_allowed_is_a_failure_of_the_call() -> None:
    with pytest.raises(IsolatedCallError):
        call_isolated(f"{HERE}:hoards", b"")
    assert call_isolated(f"{HERE}:echo", b"a") == "a"


def test_a_process_that_has_ended_while_it_was_idle_is_replaced() -> None:
    before = cast(int, call_isolated(f"{HERE}:pid", b""))
    with pytest.raises(IsolatedCallError):
        call_isolated(f"{HERE}:ends", b"")
    assert call_isolated(f"{HERE}:pid", b"") != before


async def test_nothing_is_left_of_a_process_that_ended_by_itself(eventually: Eventually) -> None:
    process = psutil.Process(cast(int, call_isolated(f"{HERE}:pid", b"")))
    process.terminate()
    await eventually(lambda: not psutil.pid_exists(process.pid))


def test_an_end_is_told_as_what_it_was() -> None:
    with pytest.raises(ProcessEndedError, match="ended with exit code 3"):
        call_isolated(f"{HERE}:ends_badly", b"")


def core_limit(_: bytes) -> JSONValue:
    return resource.getrlimit(resource.RLIMIT_CORE)[0]


def test_the_system_writes_nothing_down_of_a_process_that_it_ends() -> None:
    assert call_isolated(f"{HERE}:core_limit", b"") == 0


def test_secrets_of_this_process_are_not_in_the_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_KEYS", "canary")
    assert "canary" not in json.dumps(call_isolated(f"{HERE}:environment", b""))


def test_calls_of_many_threads_get_their_own_answers() -> None:
    answers: dict[int, JSONValue] = {}

    def ask(number: int) -> None:
        answers[number] = call_isolated(f"{HERE}:echo", str(number).encode() * 1_000)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: str(number) * 1_000 for number in range(12)}


def test_a_forked_process_has_processes_of_its_own() -> None:
    ours = call_isolated(f"{HERE}:pid", b"")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(call_isolated(f"{HERE}:pid", b"")).encode())
        isolated._close()
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as theirs:
        assert theirs.read() not in ("", str(ours))
    assert call_isolated(f"{HERE}:pid", b"") == ours
