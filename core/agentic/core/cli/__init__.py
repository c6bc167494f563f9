"""The command line. Every room and every plugin adds its commands through the hook ``agentic_commands``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.cli.output import (
        console,
        err_console,
        print_facts,
        print_lines,
        print_rows,
        print_sample,
        whole_console,
    )
    from agentic.core.cli.plain import print_json, print_line, write_json

__all__ = [
    "console",
    "err_console",
    "print_facts",
    "print_json",
    "print_line",
    "print_lines",
    "print_rows",
    "print_sample",
    "whole_console",
    "write_json",
]

_PLAIN = ("print_json", "print_line", "write_json")
_HOMES = {name: "plain" if name in _PLAIN else "output" for name in __all__}


def __getattr__(name: str) -> object:
    # Rich is loaded by commands that print.
    return loaded(__name__, _HOMES, name)
