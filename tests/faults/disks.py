"""Small disks for tests that fill them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """Mount a disk of its own over a folder; skip the test where that is not allowed."""
    mount = ("mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder)
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a disk of its own needs the right to mount one")
    try:
        yield
    finally:
        subprocess.run(("umount", "--lazy", folder), check=True)


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Leave no room on the disk of a folder while the block runs."""
    filler = folder / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    try:
        yield
    finally:
        filler.unlink()
