"""Specs that are compiled and run on the engine, with what a test gives their actors."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import NoReturn

import pytest

from agentic.core import Workflow
from agentic.core.actors import ActorContext
from agentic.core.hooks import get_registry
from agentic.core.pipeline import PipelineResult, PipelineServices, compile_pipeline, parse_spec
from agentic.core.pipeline.errors import StepFailedError
from agentic.core.types import JSONValue

HEX = re.compile(rb"<([0-9A-F]+)> Tj")


def compiled(text: str, ctx: ActorContext) -> Workflow:
    """Return the workflow of a spec that has no crawl."""
    actors = get_registry().actors
    services = PipelineServices(frontier=no_crawl, context=lambda _: ctx)
    return compile_pipeline(parse_spec(text, actors), actors, services)


async def run_spec(text: str, ctx: ActorContext, **inputs: JSONValue) -> PipelineResult:
    """Run a spec and return what it gives."""
    run = await compiled(text, ctx).run(inputs)
    return PipelineResult.model_validate(run.output(dict))


async def failure_in(text: str, ctx: ActorContext, **inputs: JSONValue) -> str:
    """Run a spec and return the class of what it fails with."""
    with pytest.raises(StepFailedError) as failed:
        await compiled(text, ctx).run(inputs)
    return failed.value.failure_class


def no_crawl(run_id: object) -> NoReturn:
    """Say that nothing crawls here."""
    raise AssertionError(f"{run_id} crawls")


def size_of_png(content: bytes) -> tuple[int, int]:
    """Return width and height of a picture."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content[12:16] == b"IHDR"
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


def text_of_pdf(content: bytes) -> str:
    """Return what a PDF of Chromium says: all of its lines by each of its fonts."""
    assert content.startswith(b"%PDF-")
    streams = list(_streams(content))
    shown = [line for stream in streams for line in HEX.findall(stream)]
    fonts = [_font(stream) for stream in streams if b"begincmap" in stream]
    return "\n".join(
        "".join(font.get(glyph, "") for glyph in _glyphs(line)) for font in fonts for line in shown
    )


def _streams(content: bytes) -> Iterator[bytes]:
    for found in re.finditer(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
        try:
            yield zlib.decompress(found[1])
        except zlib.error:  # a font, a picture
            continue


def _glyphs(line: bytes) -> list[int]:
    return [int(line[at : at + 4], 16) for at in range(0, len(line), 4)]


def _font(stream: bytes) -> dict[int, str]:
    """Return the letter of each glyph."""
    letters: dict[int, str] = {}
    for row in re.findall(rb"^(?:<[0-9A-F]{4}> ?){2,3}$", stream, re.MULTILINE):
        numbers = [int(number, 16) for number in re.findall(rb"<([0-9A-F]{4})>", row)]
        first, last = numbers[0], numbers[-2]
        letters |= {glyph: chr(numbers[-1] + glyph - first) for glyph in range(first, last + 1)}
    return letters
