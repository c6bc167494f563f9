"""Source distributions, fetched by pip as its user has set it up, and kept outside of the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentic-pipelines" / "corpora"


class CorpusMissingError(RuntimeError):
    """A source distribution is neither in the cache nor to be had; a test that needs it fails with this."""

    def __init__(self, wanted: str, said: str) -> None:
        super().__init__(
            f"{wanted} is not in {CACHE} and cannot be downloaded; is this machine offline? pip said:\n{said}"
        )


def source_of(name: str, version: str) -> Path:
    """Return the unpacked source distribution of a package: a folder to read, not to write into.

    It is downloaded once, and stays in the user's cache folder (``~/.cache/agentic-pipelines/corpora``).

    Raises:
        CorpusMissingError: It is not in the cache and pip cannot download it.
    """
    kept = CACHE / f"{name}-{version}"
    if not kept.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE, prefix="download-") as folder:
            _move(_unpacked(_downloaded(name, version, Path(folder)), Path(folder)), kept)
    return kept


def _downloaded(name: str, version: str, folder: Path) -> Path:
    # pip asks the build system of the package for its metadata, so this runs what a `pip install` runs.
    words = ("--no-deps", "--no-binary", name, "--dest", str(folder), "--quiet", f"{name}=={version}")
    command = (sys.executable, "-m", "pip", "download", *words)
    said = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if said.returncode:
        raise CorpusMissingError(f"{name} {version}", said.stderr.strip())
    return next(path for path in folder.iterdir() if path.is_file())


def _unpacked(archive: Path, folder: Path) -> Path:
    """Unpack what stays inside of its folder and is a plain file or a folder; return the one folder in it."""
    inside = folder / "unpacked"
    with tarfile.open(archive) as packed:
        packed.extractall(inside, filter="data")
    return next(inside.iterdir())


def _move(folder: Path, kept: Path) -> None:
    """Put a whole folder into the cache at once: another run may be doing the same."""
    try:
        folder.rename(kept)
    except OSError:
        if not kept.is_dir():
            raise
        shutil.rmtree(folder)
