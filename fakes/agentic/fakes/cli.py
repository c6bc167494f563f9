"""``agentic fakes serve``."""

from __future__ import annotations

import signal
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agentic.fakes.server import FakeServer

fakes_app = typer.Typer(help="Fake servers for demos and tests.", no_args_is_help=True)


@fakes_app.callback()
def _group() -> None:
    """Keep ``serve`` a word of its own, although it is the only one."""


@fakes_app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 chooses a free one.")] = 0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same pages.")] = 1,
    stories: Annotated[int, typer.Option(min=0, help="Submissions on the fake Hacker News.")] = 500,
    products: Annotated[int, typer.Option(min=0, help="Articles in the fake shop.")] = 240,
    port_file: Annotated[
        Path | None, typer.Option(help="File to write the port to, once it listens.")
    ] = None,
) -> None:
    """Serve a Hacker News API, a shop, a job board and more on loopback until Ctrl-C or SIGTERM.

    Prints the name and the URL of each server, one per line.
    """
    from agentic.fakes.server import FakeServer

    stopped = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with FakeServer(host=host, port=port, seed=seed, stories=stories, products=products) as fakes:
        for name, url in _addresses(fakes).items():
            typer.echo(f"{name:<14} {url}")
        if port_file:
            _write_whole(port_file, f"{fakes.port}\n")
        stopped.wait()


def _addresses(fakes: FakeServer) -> dict[str, str]:
    return {
        "hackernews": fakes.hackernews_url,
        "algolia": fakes.algolia_url,
        "shop": fakes.shop_url,
        "jobs": fakes.jobs_url,
        "feeds": fakes.feeds_url,
        "news": fakes.news_url,
        "hostile": fakes.hostile_url,
        "firecrawl": fakes.firecrawl_url,
        "github": fakes.github_url,
        "reddit": fakes.reddit_url,
        "reddit-api": fakes.reddit_api_url,
        "reddit-archive": fakes.reddit_archive_url,
        "sink": fakes.sink_url,
        "control": fakes.control_url,
    }


def _write_whole(path: Path, text: str) -> None:
    """Write so that a reader sees the whole file or none."""
    draft = path.with_name(f"{path.name}.part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
