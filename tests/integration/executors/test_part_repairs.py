"""``agentic pipelines repair`` on a shop whose lists, addresses, keys and login change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from tests.commands import invoke
from typer.testing import Result

from agentic.core.cli.main import build_app
from agentic.executors.testing.sites import Site
from agentic.fakes.jobs import pages
from agentic.fakes.redesign.operators import changed
from agentic.fakes.redesign.orders import Redesign
from agentic.fakes.server import FakeServer
from agentic.fakes.shop.catalogue import build_catalogue

pytestmark = pytest.mark.integration

PRODUCTS = 150
LIST = """
name: lamps
inputs: {url: {default: "URL/category/lamps"}}
steps:
  - {actor: InitialFetcher, config: {url: "${inputs.url}"}}
  - actor: ExtractList
    config:
      item_selector: ul.products li
      next_selector: a.next
      pages: 2
      fields: {title: a.product, price: {selector: span.price, type: number}}
"""
API = """
name: api
steps:
  - actor: json
    config:
      url: URL/scripted/data/lamps.json
      items: products
      link: url
      fields: {title: title, price: {json: price, type: number}}
      paging: {next: next}
"""
LOGIN = """
name: jobs
steps:
  - actor: authenticate
    config:
      session: jobs
      login:
        strategy: form
        login_url: URL/login
        form_selector: form.login
        fields: {session_key: "${secrets.JOBS_USER}", session_password: "${secrets.JOBS_PASSWORD}"}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=PRODUCTS) as server:
        yield server


@pytest.fixture
def shop(server: FakeServer, tmp_path: Path) -> Iterator[Shop]:
    server.control.redesigns.reset()
    yield Shop(server, tmp_path)
    server.control.redesigns.reset()


class Shop:
    """A shop, and the files of a person who reads it."""

    def __init__(self, server: FakeServer, folder: Path) -> None:
        self.url = server.shop_url.rstrip("/")
        self.redesigns = server.control.redesigns
        self.folder = folder
        lamps = [one for one in build_catalogue(1, PRODUCTS).values() if one.category == "lamps"][:8]
        rows = [{"url": f"{self.url}/product/{p.number}", "title": p.title, "price": p.price} for p in lamps]
        self.rows = folder / "rows.json"
        self.rows.write_text(json.dumps(rows), encoding="utf-8")

    def repair(self, spec: str, *words: str) -> Result:
        file = self.folder / "spec.yaml"
        file.write_text(spec.replace("URL", self.url), encoding="utf-8")
        return repair(file, self.rows, self.url.split("/")[2], *words)


def repair(file: Path, rows: Path, host: str, *words: str) -> Result:
    options = ["--rows", str(rows), "--allow-private-host", host]
    result = invoke(build_app(), ["pipelines", "repair", str(file), *options, *words])
    assert result.exit_code == 0, result.exception
    return result


def kinds(result: Result) -> list[tuple[str, str]]:
    return [(row["kind"], row["state"]) for row in json.loads(result.output)]


def config(file: Path, step: int) -> dict[str, Any]:
    spec = yaml.safe_load(file.read_text(encoding="utf-8"))
    return cast(dict[str, Any], spec["steps"][step]["config"])


def test_list_that_moved_to_another_address_and_layout_is_read_again(shop: Shop) -> None:
    assert shop.repair(LIST).output == "no broken part was found\n"
    shop.redesigns.add(Redesign(path="/shop/category/*", changes=("move_pages",), seed=2))
    layout = Redesign(
        path="/shop/category-2/*", changes=("move_list", "change_paging", "rename_classes"), seed=3
    )
    shop.redesigns.add(layout)
    out = shop.folder / "new.yaml"
    said = shop.repair(LIST, "--out", str(out)).output
    assert "start page of fetch: found, score 1.00" in said
    assert all(len(line) <= 80 for line in said.splitlines() if "://" not in line and "wrote" not in line)
    spec = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert spec["inputs"]["url"]["default"] == f"{shop.url}/category-2/lamps"
    fields = config(out, 1)["fields"]
    assert fields == {"title": "a.v3-c__product", "price": {"selector": "span.v3-c__price", "type": "number"}}
    assert repair(out, shop.rows, shop.url.split("/")[2]).output == "no broken part was found\n"


def test_endpoint_with_other_keys_is_read_again(shop: Shop) -> None:
    assert shop.repair(API).output == "no broken part was found\n"
    shop.redesigns.add(Redesign(path="/shop/scripted/*", changes=("rename_keys",)))
    out = shop.folder / "new.yaml"
    assert kinds(shop.repair(API, "--json", "--out", str(out))) == [("json", "found"), ("paging", "found")]
    assert config(out, 0) == {
        "url": f"{shop.url}/scripted/data/lamps.json",
        "items": "data.entries",
        "link": "href",
        "fields": {"title": "name", "price": {"json": "amount.value", "type": "number"}},
        "paging": {"next": "next_page"},
    }
    assert repair(out, shop.rows, shop.url.split("/")[2]).output == "no broken part was found\n"


def test_login_with_other_fields_is_repaired_without_its_values(tmp_path: Path) -> None:
    file, rows, out = tmp_path / "jobs.yaml", tmp_path / "rows.json", tmp_path / "new.yaml"
    with Site() as site:
        rows.write_text(json.dumps([{"url": f"{site.url}/job/1", "title": "Baker"}]))
        file.write_text(LOGIN.replace("URL", site.url))
        html = {"Content-Type": "text/html"}
        site.serve("/login", pages.login("secret-token", ""), headers=html)
        assert repair(file, rows, site.host).output == "no broken part was found\n"
        site.serve("/login", changed(pages.login("secret-token", ""), ["rename_login"], 7), headers=html)
        said = repair(file, rows, site.host, "--out", str(out)).output
        assert "login of authenticate: found" in said
        assert not any(word in said for word in ("secret-token", "JOBS_USER", "JOBS_PASSWORD"))
        login = config(out, 0)["login"]
        assert login["fields"] == {
            "account[mail7]": "${secrets.JOBS_USER}",
            "account[secret7]": "${secrets.JOBS_PASSWORD}",
        }
        assert login["form_selector"] is None
        assert repair(out, rows, site.host).output == "no broken part was found\n"
        foreign = changed(pages.login("", ""), ["rename_login"], 7).replace(
            '"session-7"', '"https://evil.example/"'
        )
        site.serve("/login", foreign, headers=html)
        assert kinds(repair(file, rows, site.host, "--json")) == [("login", "unsure")]


def test_rows_whose_pages_are_gone_are_left_out_of_the_repair_of_fields(tmp_path: Path) -> None:
    file, rows = tmp_path / "lamps.yaml", tmp_path / "rows.json"
    detail = "  - {config: {schema: {title: h1}}, actor: extract_detail}"
    with Site() as site:
        fetch = f"  - {{actor: fetch, config: {{url: '{site.url}/1'}}}}"
        file.write_text(f"name: x\nsteps:\n{fetch}\n{detail}\n")
        known = [{"url": f"{site.url}/{key}", "title": f"Lamp number {key}"} for key in (1, 2)]
        rows.write_text(json.dumps(known))
        site.serve("/1", "<h1>Lamp number 1</h1>", headers={"Content-Type": "text/html"})
        said = repair(file, rows, site.host).output
        assert "works" in said
        assert "pages of the rows that are gone, or show a wall: 1" in said
        rows.write_text(json.dumps(known[1:]))
        options = ["--rows", str(rows), "--allow-private-host", site.host]
        said = str(invoke(build_app(), ["pipelines", "repair", str(file), *options]).exception)
        assert f"no page of the rows can be read: {site.url}/2 answers with status 404" in said
