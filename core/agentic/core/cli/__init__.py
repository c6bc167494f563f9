"""The command line. Every room and every plugin adds its commands through the hook ``agentic_commands``."""

from agentic.core.cli.output import (
    console,
    err_console,
    print_json,
    print_lines,
    print_rows,
    print_sample,
    whole_console,
    write_json,
)

__all__ = [
    "console",
    "err_console",
    "print_json",
    "print_lines",
    "print_rows",
    "print_sample",
    "whole_console",
    "write_json",
]
