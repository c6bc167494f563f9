"""Applications of plugins under one server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.applications import Starlette
from tests.unit.core.hooks.conftest import Site

from agentic.core.hooks.manager import HOOK_NAMES
from agentic.executors.serving import ServedProject, mounted
from agentic.executors.serving.errors import ServeError
from agentic.executors.serving.mounts import lifespan

PROJECT = cast(ServedProject, object())
PLUGIN = """
    from agentic.core.hooks import hookimpl
    from starlette.applications import Starlette

    def works(project):
        return Starlette()

    def broken(project):
        raise ValueError("no port to the outside")

    @hookimpl
    def agentic_http():
        return {names}
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)
    yield Site(tmp_path)
    for name in [name for name in set(sys.modules) - known if name.startswith("throwaway_")]:
        del sys.modules[name]


def test_the_hook_is_one_of_those_that_plugins_are_asked_for() -> None:
    assert "agentic_http" in HOOK_NAMES


async def test_an_application_that_cannot_start_leaves_the_others_alone(site: Site) -> None:
    site.install("one", PLUGIN.format(names='{"one": works, "two": broken}'))
    async with mounted(PROJECT, site.registry()) as mounts:
        assert [(mount.name, mount.app is not None) for mount in mounts] == [("one", True), ("two", False)]
        assert "no port to the outside" in mounts[1].error


async def test_a_name_that_two_plugins_claim_belongs_to_neither(site: Site) -> None:
    site.install("one", PLUGIN.format(names='{"chat": works, "a": works}'))
    site.install("two", PLUGIN.format(names='{"chat": works, "b": works}'))
    async with mounted(PROJECT, site.registry()) as mounts:
        assert [(mount.name, mount.app is not None) for mount in mounts] == [
            ("a", True),
            ("b", True),
            ("chat", False),
        ]
        assert "one" in mounts[2].error
        assert "two" in mounts[2].error


async def test_an_application_starts_and_stops_in_one_task() -> None:
    seen: list[tuple[str, Any]] = []

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        seen.append(("started", asyncio.current_task()))
        yield
        seen.append(("stopped", asyncio.current_task()))

    async with lifespan(Starlette(lifespan=life), "x"):
        assert [what for what, _ in seen] == ["started"]
    assert [what for what, _ in seen] == ["started", "stopped"]
    assert seen[0][1] is seen[1][1] is not asyncio.current_task()


async def test_an_application_that_refuses_to_start_is_named() -> None:
    class Life:
        def __init__(self, _: Starlette) -> None:
            raise ValueError("no such table")

        async def __aenter__(self) -> None: ...

        async def __aexit__(self, *_: object) -> None: ...

    with pytest.raises(ServeError, match="'x' did not start"):
        async with lifespan(Starlette(lifespan=Life), "x"):
            pass


async def test_an_application_without_a_lifespan_is_used_as_it_is() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"

    async with lifespan(app, "x"):
        pass
