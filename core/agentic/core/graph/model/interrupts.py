"""Handlers that raise a non-``Exception``, and a Ctrl-C while they run."""

from __future__ import annotations

import signal
import threading
from functools import partial
from types import CodeType, TracebackType

from agentic.core.graph.errors import HandlerStoppedError


def stopped_by(executor_id: str, error: BaseException) -> HandlerStoppedError:
    """Return the failure of an executor whose code raised an exception meant for tasks or processes.

    Raises:
        KeyboardInterrupt: It is a Ctrl-C.
    """
    if is_interrupt(error):
        raise error
    stopped = HandlerStoppedError(executor_id, error)
    stopped.__cause__ = error
    return stopped


def is_interrupt(error: BaseException) -> bool:
    """Whether a person pressed Ctrl-C: the program must end, regardless of the interrupted code.

    Python runs signal handlers only in its main thread. The default one raises ``KeyboardInterrupt`` in the
    middle of the code that runs there, as if that code had raised it. A handler in Python, such as the one of
    ``asyncio.run``, is the innermost call of the traceback.
    """
    if not isinstance(error, KeyboardInterrupt):
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    installed = signal.getsignal(signal.SIGINT)
    return installed is signal.default_int_handler or _code_of(installed) in _codes(error.__traceback__)


def _codes(trace: TracebackType | None) -> set[CodeType]:
    found = set()
    while trace is not None:
        found.add(trace.tb_frame.f_code)
        trace = trace.tb_next
    return found


def _code_of(installed: object) -> CodeType | None:
    function = installed.func if isinstance(installed, partial) else installed
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None
