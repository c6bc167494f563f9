"""The run of a command in a sandbox, and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from agentic.core.sandbox.errors import SandboxFileError

MIB = 1024 * 1024
MAX_FILES = 200
"""Files that a run can be given."""
MAX_COLLECTED = 1_000
"""Files that are collected after a run; the others are skipped."""
MAX_NAME_CHARS = 200
MAX_ARGUMENT_BYTES = 100_000
MAX_COMMAND_BYTES = 1_000_000
"""A command with its environment; Linux takes 2 MiB, with our tools and a pointer for each word."""


def is_plain(name: str) -> bool:
    """Whether the name of a file is a relative path with plain parts, and not too long."""
    is_path = name.isprintable() and not any(part in {"", ".", ".."} for part in name.split("/"))
    return 0 < len(name) <= MAX_NAME_CHARS and is_path


def check_name(name: str) -> str:
    """Return the name of a file, if it is a plain relative path.

    Raises:
        SandboxFileError: It is not.
    """
    if not is_plain(name):
        raise SandboxFileError(
            f"the name {name[:MAX_NAME_CHARS]!a} of a file in a sandbox must be a relative path with plain "
            f"parts, as src/main.py, of at most {MAX_NAME_CHARS} characters"
        )
    return name


FileName = Annotated[str, AfterValidator(check_name)]


class Ending(StrEnum):
    """Why a run ended."""

    EXITED = "exited"
    TIME = "time"
    MEMORY = "memory"
    OUTPUT = "output"
    FILES = "files"
    KILLED = "killed"


class SandboxLimits(BaseModel):
    """The limits of one run; at its limit of time, memory, output or files it is ended."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    time_s: float = Field(default=60.0, gt=0, le=86_400, description="Seconds that the run may take.")
    memory_bytes: int = Field(
        default=1024 * MIB, ge=16 * MIB, description="Memory of all its processes together."
    )
    output_bytes: int = Field(default=MIB, ge=1, le=64 * MIB, description="Bytes of stdout, and of stderr.")
    disk_bytes: int = Field(
        default=256 * MIB,
        ge=64 * 1024,
        le=16 * 1024 * MIB,
        description="Bytes of all its files; more cannot be written.",
    )
    process_count: int = Field(default=128, ge=4, le=4_096, description="Most processes and threads at once.")
    file_count: int = Field(default=20_000, ge=100, description="Most files and folders at once.")


class SandboxJob(BaseModel):
    """A command, with everything that it needs.

    Attributes:
        command: The program and its arguments; no shell reads them.
        files: Name -> content: the files in its folder.
        limits: Its limits.
        tools: Names of tools that it needs, in the order of its ``PATH``.
        environment: Its variables; it gets no others except a few fixed ones.
        keep: Patterns of the names of new or changed files that are collected; ``*`` also matches slashes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    command: tuple[str, ...] = Field(min_length=1, max_length=1_000)
    files: dict[FileName, bytes] = Field(default_factory=dict, max_length=MAX_FILES, repr=False)
    limits: SandboxLimits = SandboxLimits()
    tools: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    keep: tuple[str, ...] = ("*",)

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_words((*self.command, *self.environment, *self.environment.values()))
        if "=" in self.command[0]:  # the program that sets the variables would take it as one of them
            raise SandboxFileError(
                f"the name of the program {self.command[0][:40]!a} contains '='; rename it"
            )
        for name in self.environment:
            if not name.isidentifier():
                raise SandboxFileError(f"{name[:40]!a} is not a name of a variable of an environment")
        size = sum(map(len, self.files.values()))
        if size > self.limits.disk_bytes:
            raise SandboxFileError(
                f"the files have {size} bytes, but disk_bytes is {self.limits.disk_bytes}; raise that limit"
            )
        for name in self.files:
            for folder in _folders_of(name):
                if folder in self.files:
                    raise SandboxFileError(f"the file {folder!r} is also the folder of {name!r}; rename one")
        return self

    def keeps(self, name: str) -> bool:
        """Whether a file of that name is collected."""
        return any(fnmatchcase(name[:MAX_NAME_CHARS], pattern) for pattern in self.keep)


class SandboxResult(BaseModel):
    """The result of a run.

    Attributes:
        exit_code: Of the command; 128 and the number for a signal. None if the run was ended.
        ended: Why the run ended.
        stdout: The output, cut at its limit; bytes that are not UTF-8 are replaced.
        stderr: The same of errors.
        files: Name -> content of its new and changed files.
        skipped: Names of files that were not collected: links, special files, too many of them.
        wall_s: Seconds it took.
        memory_bytes: The most memory that was seen; 0 if it is not known.
    """

    __wire_name__ = "agentic.sandbox.SandboxResult"

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    exit_code: int | None = Field(ge=0, le=255)
    ended: Ending
    stdout: str = ""
    stderr: str = ""
    files: dict[str, bytes] = Field(default_factory=dict, repr=False)
    skipped: tuple[str, ...] = ()
    wall_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    memory_bytes: int = Field(default=0, ge=0)

    @property
    def succeeded(self) -> bool:
        """Whether the command ended by itself, with exit code 0."""
        return self.ended is Ending.EXITED and self.exit_code == 0

    def text_of(self, name: str) -> str:
        """Return the text of a collected file; empty if it does not exist."""
        return self.files.get(name, b"").decode("utf-8", "replace")

    def describe(self) -> str:
        """Return its end in a few words, for people and models."""
        match self.ended:
            case Ending.EXITED:
                return f"it ended with exit code {self.exit_code}"
            case Ending.TIME:
                return f"it was ended: it took longer than its limit of time ({self.wall_s:.1f} s)"
            case Ending.MEMORY:
                return "it was ended: it used more memory than its limit"
            case Ending.OUTPUT:
                return "it was ended: it printed more than its limit of output"
            case Ending.FILES:
                return "it was ended: it made more files than its limit"
            case Ending.KILLED:
                return "it was ended from outside"


def as_files(files: Mapping[str, str | bytes]) -> dict[str, bytes]:
    """Return files with texts as bytes.

    Raises:
        SandboxFileError: A text contains lone surrogates.
    """
    try:
        return {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
    except UnicodeEncodeError as exc:
        raise SandboxFileError("the text of a file contains lone surrogates; clean it first") from exc


def folders_of(names: Sequence[str] | Mapping[str, object]) -> list[str]:
    """Return the folders that files of such names need, parents first."""
    return sorted({folder for name in names for folder in _folders_of(name)})


def _folders_of(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _check_words(words: Sequence[str]) -> None:
    """Check that the kernel takes a command and its environment."""
    size = 0
    for word in words:
        count = _utf8_bytes(word)
        size += count or 0
        if count is None or count > MAX_ARGUMENT_BYTES or "\0" in word:
            raise SandboxFileError(
                f"the word {word[:40]!a} of a command or its environment contains NUL, "
                f"lone surrogates or over {MAX_ARGUMENT_BYTES} bytes; put long texts into a file"
            )
    if size > MAX_COMMAND_BYTES:
        raise SandboxFileError(
            f"the command with its environment has {size} bytes, more than {MAX_COMMAND_BYTES}; put long "
            "texts into files"
        )


def _utf8_bytes(word: str) -> int | None:
    """Return the length of a word; None if it contains lone surrogates."""
    try:
        return len(word.encode())
    except UnicodeEncodeError:
        return None
