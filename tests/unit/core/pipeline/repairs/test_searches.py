"""Searches for repairs on whole sites in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest
from tests.unit.core.pipeline.repairs.sites import HOME, ROWS, Pages, cards

from agentic.core.pipeline.repairs.proposals import Repair, RepairAbstention, RepairProposal, apply_changes
from agentic.core.pipeline.repairs.searches import find_repairs
from agentic.core.types import JSONValue

STORED = ROWS[:6]
NAV = '<nav><a href="/">Home</a> <a href="/workshop/tools">Tools</a> <a href="/garden">Garden</a></nav>'
OLD_LIST = "".join(f'<li class="tool"><a href="{row["url"]}">{row["title"]}</a></li>' for row in ROWS)


def html(body: str, title: str = "Tools") -> str:
    return f"<html><head><title>{title}</title></head><body>{NAV}{body}</body></html>"


def list_spec(**config: JSONValue) -> JSONValue:
    listed: dict[str, JSONValue] = {"item_selector": "li.tool", **config}
    return {
        "inputs": {"url": {"default": f"{HOME}/tools"}},
        "steps": [
            {"actor": "fetch", "config": {"url": "${inputs.url}"}},
            {"actor": "extract_list", "config": listed},
        ],
    }


def detail_pages() -> dict[str, str | JSONValue]:
    crumb = '<p class="path"><a href="/workshop/tools">All tools</a></p>'
    return {str(row["url"]): html(f"{crumb}<h1>{row['title']}</h1>", str(row["title"])) for row in ROWS}


async def repairs(
    spec: JSONValue, pages: Mapping[str, str | JSONValue], **more: object
) -> tuple[list[Repair], Pages]:
    site = Pages(pages, cast(tuple[str, ...], more.get("sitemap", ())))
    site.moved = cast(dict[str, str], more.get("moved", {}))
    return await find_repairs(spec, STORED, site), site


def one(found: list[Repair]) -> RepairProposal:
    assert len(found) == 1, found
    assert isinstance(found[0], RepairProposal), found
    return found[0]


def unsure(found: list[Repair]) -> RepairAbstention:
    assert len(found) == 1, found
    assert isinstance(found[0], RepairAbstention), found
    return found[0]


async def test_site_that_works_gets_no_repair_and_few_requests() -> None:
    found, site = await repairs(
        list_spec(), {f"{HOME}/tools": html(f"<ul>{OLD_LIST}</ul>"), **detail_pages()}
    )
    assert found == []
    assert len(site.asked) <= 4


async def test_start_page_that_is_gone_is_found_by_the_breadcrumbs_of_the_rows() -> None:
    pages = {f"{HOME}/workshop/tools": html(f"<ul>{OLD_LIST}</ul>"), f"{HOME}/": html("<p>Welcome</p>")}
    found, _ = await repairs(list_spec(), {**pages, **detail_pages()})
    proposal = one(found)
    assert proposal.kind == "start_page"
    assert proposal.note == f"{HOME}/tools answers with status 404; the new page lists 6 stored rows"
    changed = cast(dict[str, dict[str, dict[str, str]]], apply_changes(list_spec(), proposal.changes))
    assert changed["inputs"]["url"]["default"] == f"{HOME}/workshop/tools"
    assert (proposal.score, proposal.runner_up) == (1.0, 0.0)
    assert proposal.evidence[0].old == ROWS[0]["url"]


async def test_start_page_that_leads_home_is_found_in_the_sitemap_and_its_list_is_repaired_too() -> None:
    new = f"{HOME}/catalogue/all-tools"
    pages = {f"{HOME}/": html("<p>Welcome</p>"), new: html(f"<main>{cards(ROWS)}</main>")}
    found, _ = await repairs(
        list_spec(), pages, moved={f"{HOME}/tools": f"{HOME}/"}, sitemap=(f"{HOME}/about", new)
    )
    assert [repair.kind for repair in found] == ["start_page", "list"]
    changes = [change for repair in found for change in cast(RepairProposal, repair).changes]
    assert [change.new for change in changes] == [new, "div.card", "h3 > a"]


async def test_home_page_with_recently_viewed_rows_is_not_a_start_page() -> None:
    seen = f'<section><h2>Recently viewed</h2><div class="tools">{cards(STORED)}</div></section>'
    found, _ = await repairs(list_spec(), {f"{HOME}/": html(seen), f"{HOME}/workshop/tools": html(seen)})
    assert "none of the 1 likeliest pages of the site has a list of the stored rows" in unsure(found).reason


async def test_further_page_of_a_list_is_not_a_start_page_although_it_shows_more_rows() -> None:
    new = f"{HOME}/workshop/tools"
    home = f'<a href="{new}">Tools</a> <a href="{new}?page=2">Tools 2</a> <a href="{new}/page/3">Tools 3</a>'
    pages = {f"{HOME}/": html(home), f"{new}?page=2": html(f"<ul>{OLD_LIST}</ul>")}
    pages[f"{new}/page/3"] = pages[f"{new}?page=2"]
    newer = OLD_LIST.replace(str(ROWS[0]["url"]) + '"', f'{HOME}/tool/71"').replace(
        str(ROWS[0]["title"]), "Saw"
    )
    pages[new] = html(f"<ul>{newer}</ul>")
    assert one((await repairs(list_spec(), pages))[0]).changes[0].new == new


async def test_selector_that_gives_other_elements_now_is_told_and_not_changed() -> None:
    menu = "".join(f'<li class="tool"><a href="/x/{at}">Offer {at}</a></li>' for at in range(3))
    body = f"<ol>{menu}</ol><main>{cards(ROWS)}</main>"
    said = unsure((await repairs(list_spec(), {f"{HOME}/tools": html(body)}))[0])
    assert "show no stored row, and another block shows 6" in said.reason
    assert said.choices == ("div.card",)


async def test_start_page_that_cannot_be_read_is_told() -> None:
    site = Pages({})
    site.down = True
    assert (
        "cannot be read now; try it again later"
        in unsure(await find_repairs(list_spec(), STORED, site)).reason
    )


async def test_pages_of_other_hosts_are_not_start_pages() -> None:
    foreign = "https://mirror.example/workshop/tools"
    body = f'<a href="{foreign}">Tools</a>'
    found, site = await repairs(list_spec(), {f"{HOME}/": html(body), foreign: html(f"<ul>{OLD_LIST}</ul>")})
    assert unsure(found).kind == "start_page"
    assert foreign not in site.asked


async def test_parked_domain_is_told_and_nothing_is_searched() -> None:
    found, site = await repairs(
        list_spec(), {f"{HOME}/tools": html("<h1>This domain is for sale</h1><p>Buy this domain</p>")}
    )
    assert "is a parked domain" in unsure(found).reason
    assert f"{HOME}/" not in site.asked


async def test_redirect_to_the_new_place_of_the_list_is_followed_and_needs_no_repair() -> None:
    pages = {f"{HOME}/workshop/tools": html(f"<ul>{OLD_LIST}</ul>")}
    found, _ = await repairs(list_spec(), pages, moved={f"{HOME}/tools": f"{HOME}/workshop/tools"})
    assert found == []


async def test_list_with_other_items_and_fields_becomes_one_proposal() -> None:
    pages = {f"{HOME}/tools": html(f"<main>{cards(ROWS)}</main>")}
    fields: JSONValue = {"title": ".t", "price": {"selector": ".p", "type": "number"}, "maker": ".m"}
    found, _ = await repairs(list_spec(fields=fields), pages)
    proposal, doubt = found
    assert isinstance(proposal, RepairProposal)
    changed = cast(
        dict[str, list[dict[str, dict[str, JSONValue]]]],
        apply_changes(list_spec(fields=fields), proposal.changes),
    )
    assert changed["steps"][1]["config"] == {
        "item_selector": "div.card",
        "link_selector": "h3 > a",
        "fields": {"title": "h3.name", "price": {"selector": "b.amount", "type": "number"}, "maker": ".m"},
    }
    assert isinstance(doubt, RepairAbstention)
    assert doubt.subject == "extract_list.maker"


async def test_list_that_shows_only_new_rows_is_left_to_a_person() -> None:
    new = [{**row, "url": f"{HOME}/tool/9{at}", "title": f"Novelty {at}"} for at, row in enumerate(ROWS)]
    found, _ = await repairs(list_spec(), {f"{HOME}/tools": html(f"<main>{cards(new)}</main>")})
    assert unsure(found).reason == (
        f"'li.tool' matches nothing on {HOME}/tools, and no block of the page has a stored row in it"
    )


def paged(rows: list[dict[str, JSONValue]], pager: str) -> str:
    listed = "".join(f'<li class="tool"><a href="{row["url"]}">{row["title"]}</a></li>' for row in rows)
    return html(f'<ul>{listed}</ul><div class="pager">{pager}</div>')


PAGES = (
    '<a class="step" href="/tools?page=2">Older tools</a>',
    '<a class="step" href="/tools">Newer tools</a> <a class="step" href="/tools?page=3">Older tools</a>',
    '<a href="/tools?page=2">Newer tools</a>',
)


async def test_next_link_of_another_kind_is_found_and_does_not_lead_back() -> None:
    pages = {
        f"{HOME}/tools{q}": paged(ROWS[4 * at : 4 * at + 4], PAGES[at])
        for at, q in enumerate(("", "?page=2", "?page=3"))
    }
    found, _ = await repairs(list_spec(next_selector="a.next", pages=9), pages)
    said = unsure(found)
    assert said.kind == "paging"
    assert "no selector of the link to it holds on both pages" in said.reason
    named = {
        url: page.replace('class="step" href="/tools?page=', 'class="older" href="/tools?page=')
        for url, page in pages.items()
    }
    proposal = one((await repairs(list_spec(next_selector="a.next", pages=9), named))[0])
    assert [(change.place[-1], change.old, change.new) for change in proposal.changes] == [
        ("next_selector", "a.next", "div.pager a.older")
    ]


async def test_next_link_to_a_page_with_the_same_items_is_not_taken() -> None:
    pages = {
        f"{HOME}/tools{q}": paged(ROWS[:4], '<a class="next-tip" href="/tools?page=2">Next</a>')
        for q in ("", "?page=2")
    }
    found, _ = await repairs(list_spec(next_selector="a.more", pages=9), pages)
    assert "the list may have one page now" in unsure(found).reason


@pytest.mark.parametrize(
    ("pager", "said"),
    [
        ('<button data-url="/tools?page=2">Load more</button>', "a button loads more items from"),
        ('<a href="/tools?page=2">2</a> <a href="/tools?page=3">3</a>', "the pages are numbered, such as"),
    ],
)
async def test_other_ways_to_continue_are_named_with_the_next_step(pager: str, said: str) -> None:
    found, _ = await repairs(
        list_spec(next_selector="a.next", pages=9), {f"{HOME}/tools": paged(ROWS, pager)}
    )
    assert f"{said} {HOME}/tools?page=2" in unsure(found).reason


async def test_list_with_its_old_link_to_the_next_page_is_left_alone() -> None:
    pages = {f"{HOME}/tools": paged(ROWS, '<a class="next" href="/tools?page=2">Next</a>')}
    assert (await repairs(list_spec(next_selector="a.next", pages=9), pages))[0] == []


API = f"{HOME}/api/tools"


def json_spec(**config: JSONValue) -> JSONValue:
    given: dict[str, JSONValue] = {
        "url": API,
        "items": "tools",
        "fields": {"title": "name", "price": "price"},
        "link": "url",
        **config,
    }
    return {"steps": [{"id": "read", "actor": "json", "config": given}]}


def new_item(row: Mapping[str, JSONValue]) -> JSONValue:
    return {
        "label": row["title"],
        "cost": {"price": float(str(row["price"]))},
        "href": str(row["url"]).removeprefix(HOME),
    }


async def test_json_with_a_moved_list_and_renamed_keys_becomes_one_proposal() -> None:
    pages: dict[str, str | JSONValue] = {API: {"data": {"entries": [new_item(row) for row in ROWS]}}}
    proposal = one((await repairs(json_spec(), pages))[0])
    changed = cast(dict[str, list[dict[str, JSONValue]]], apply_changes(json_spec(), proposal.changes))
    assert changed["steps"][0]["config"] == {
        "url": API,
        "items": "data.entries",
        "fields": {"title": "label", "price": "cost.price"},
        "link": "href",
    }
    assert proposal.subject == "read"
    assert {"url": API, "old": {"title": ROWS[0]["title"]}, "new": {"label": ROWS[0]["title"]}} in [
        one.model_dump() for one in proposal.evidence
    ]


async def test_json_that_works_gets_no_repair() -> None:
    pages: dict[str, str | JSONValue] = {
        API: {"tools": [{"name": row["title"], "price": row["price"], "url": row["url"]} for row in ROWS]}
    }
    assert (await repairs(json_spec(), pages))[0] == []


async def test_endpoint_that_is_gone_is_told_with_the_next_step() -> None:
    said = unsure((await repairs(json_spec(), {f"{HOME}/": html("")}))[0])
    assert (
        said.reason
        == f"{API} answers with status 404; find its new address in the network panel of a browser"
    )


async def test_path_of_the_next_page_is_found_where_it_leads_to_other_items() -> None:
    old: list[JSONValue] = [{"name": row["title"], "price": row["price"], "url": row["url"]} for row in ROWS]
    pages: dict[str, str | JSONValue] = {
        API: {"tools": old[:6], "links": {"next": f"{API}?p=2", "self_after": f"{API}?p=9"}},
        f"{API}?p=2": {"tools": old[6:], "links": {}},
    }
    proposal = one((await repairs(json_spec(paging={"next": "next_url"}), pages))[0])
    assert proposal.changes[0].new == "links.next"
    pages[f"{API}?p=2"] = pages[API]
    said = unsure((await repairs(json_spec(paging={"next": "next_url"}), pages))[0])
    assert said.reason == "'next_url' is gone from the answer, and no other key leads to a next page"


LOGIN_FORM = (
    '<form action="/session" method="post"><input type="hidden" name="t" value="hidden-token">'
    '<input name="mail"><input type="password" name="pass"></form>'
)


def login_spec(**more: JSONValue) -> JSONValue:
    fields: JSONValue = {"user": "${secrets.TOOLS_USER}", "password": "literal-password"}
    login: JSONValue = {"strategy": "form", "login_url": f"{HOME}/login", "fields": fields, **more}
    return {"steps": [{"actor": "authenticate", "config": {"session": "tools", "login": login}}]}


async def test_renamed_login_is_proposed_without_any_value() -> None:
    found, _ = await repairs(login_spec(), {f"{HOME}/login": html(LOGIN_FORM)})
    proposal = one(found)
    text = proposal.model_dump_json()
    assert not any(secret in text for secret in ("literal-password", "TOOLS_USER", "hidden-token"))
    changed = str(apply_changes(login_spec(), proposal.changes))
    assert "{'mail': '${secrets.TOOLS_USER}', 'pass': 'literal-password'}" in changed


async def test_login_page_that_moved_is_found_by_the_link_of_the_home_page() -> None:
    pages = {
        f"{HOME}/": html('<a href="/account/signin">Sign in</a>'),
        f"{HOME}/account/signin": html(LOGIN_FORM),
    }
    proposal = one((await repairs(login_spec(), pages))[0])
    assert [change.new for change in proposal.changes] == ["mail", "pass", f"{HOME}/account/signin"]


async def test_form_of_another_host_is_told_and_not_proposed() -> None:
    form = LOGIN_FORM.replace('"/session"', '"https://evil.example/session"')
    said = unsure((await repairs(login_spec(), {f"{HOME}/login": html(form)}))[0])
    assert "is sent to evil.example" in said.reason


async def test_login_that_works_is_left_alone() -> None:
    form = LOGIN_FORM.replace("mail", "user").replace('"pass"', '"password"')
    assert (await repairs(login_spec(), {f"{HOME}/login": html(form)}))[0] == []


async def test_record_page_that_moved_is_found_by_its_values() -> None:
    row: dict[str, JSONValue] = {**ROWS[0], "about": "For nails of all sizes."}
    spec: JSONValue = {
        "steps": [
            {"actor": "fetch", "config": {"url": row["url"]}},
            {"actor": "extract_detail", "config": {"schema": {"title": "h1"}}},
        ]
    }
    new = f"{HOME}/workshop/tool-1-claw-hammer"
    page = html(f"<h1>{row['title']}</h1><p>{row['about']}</p>", str(row["title"]))
    pages = {f"{HOME}/": html(f'<a href="{new}">Tool 1</a>'), new: page}
    site = Pages(pages)
    found = await find_repairs(spec, [row], site)
    assert one(found).changes[0].new == new


@pytest.mark.parametrize("kind", ["crawl", "list"])
async def test_search_is_bounded(kind: str) -> None:
    many = "".join(f'<a href="/tools-{at}">Tools {at}</a>' for at in range(500))
    crawl: JSONValue = {"steps": [{"type": "crawl", "start": [f"{HOME}/tools/{at}" for at in range(30)]}]}
    found, site = await repairs(crawl if kind == "crawl" else list_spec(), {f"{HOME}/": html(many)})
    assert all(isinstance(repair, RepairAbstention) for repair in found)
    assert len(site.asked) <= 40


def crawl_spec(match: JSONValue = "*/tool/*") -> JSONValue:
    follow: JSONValue = {"include": ["*/tool/*", "*page=*"]}
    crawl: JSONValue = {
        "type": "crawl",
        "start": f"{HOME}/tools",
        "detail": {"match": match},
        "follow": follow,
    }
    return {"steps": [crawl]}


def moved_to(folder: str) -> dict[str, str]:
    return {str(row["url"]): f"{HOME}{folder}{at}-tool.html" for at, row in enumerate(ROWS, 10)}


def moved_pages(moved: Mapping[str, str]) -> dict[str, str | JSONValue]:
    links = "".join(f'<li><a href="{moved[str(row["url"])]}">{row["title"]}</a></li>' for row in ROWS)
    pages: dict[str, str | JSONValue] = {f"{HOME}/tools": html(f"<ul>{links}</ul>")}
    return pages | {
        moved[str(row["url"])]: html(f"<h1>{row['title']}</h1>", str(row["title"])) for row in ROWS
    }


@pytest.mark.parametrize("redirects", [True, False])
async def test_crawl_reads_rows_at_their_new_addresses(redirects: bool) -> None:
    moved = moved_to("/workshop/")
    found, _ = await repairs(crawl_spec(), moved_pages(moved), moved=moved if redirects else {})
    proposal = one(found)
    assert [(change.place[2:], change.new) for change in proposal.changes] == [
        (("detail", "match"), ["*/tool/*", "/workshop/*.html"]),
        (("follow", "include"), ["*/tool/*", "*page=*", "/workshop/*.html"]),
    ]
    assert (proposal.evidence[0].old, proposal.evidence[0].new) == (
        ROWS[0]["url"],
        moved[str(ROWS[0]["url"])],
    )
    assert (await repairs(crawl_spec(["*/tool/*", "/workshop/*"]), moved_pages(moved), moved=moved))[0] == []


@pytest.mark.parametrize("start", ["/tools", "/"])
async def test_start_page_without_links_for_the_crawl_is_looked_for(start: str) -> None:
    spec = cast(dict[str, list[dict[str, JSONValue]]], crawl_spec())
    spec["steps"][0]["start"] = f"{HOME}{start}"
    pages = {f"{HOME}/workshop/tools": html(f"<ul>{OLD_LIST}</ul>"), **detail_pages()}
    pages |= {f"{HOME}/": html("<h1>Welcome</h1>"), f"{HOME}{start}": html("<h1>Our tools</h1>")}
    proposal = one((await repairs(cast(JSONValue, spec), pages))[0])
    assert [change.new for change in proposal.changes] == [f"{HOME}/workshop/tools"]
    assert "links to no page that the crawl reads or follows" in proposal.note
    del cast(dict[str, JSONValue], spec["steps"][0]["follow"])["include"]
    assert (await repairs(cast(JSONValue, spec), pages))[0] == []  # it follows any link


async def test_glob_that_fits_other_pages_too_is_not_proposed() -> None:
    moved = {url: new.replace(".html", "") for url, new in moved_to("/").items()}
    said = unsure((await repairs(crawl_spec(), moved_pages(moved), moved=moved))[0])
    assert "no glob fits them and no other page" in said.reason
    assert said.choices[0] == moved[str(ROWS[0]["url"])]


async def test_rows_that_lead_to_other_pages_do_not_change_a_crawl() -> None:
    moved = moved_to("/workshop/")
    wrong = {new: html("<h1>We have moved</h1>", "News") for new in moved.values()}
    said = unsure((await repairs(crawl_spec(), {**moved_pages(moved), **wrong}, moved=moved))[0])
    assert "links to no page that the crawl reads" in said.reason


async def test_start_page_of_two_steps_is_not_moved_for_one_of_them() -> None:
    spec = cast(dict[str, list[JSONValue]], list_spec())
    spec["steps"].append({"id": "other", "actor": "extract_list", "config": {"item_selector": "p.offer"}})
    pages = {f"{HOME}/tools": html("<p class=offer><a href=/a>A</a></p>"), f"{HOME}/": html("")}
    pages[f"{HOME}/workshop/tools"] = html(f"<ul>{OLD_LIST}</ul>")
    said = unsure((await repairs(cast(JSONValue, spec), pages))[0])
    assert said.kind == "list"


async def test_start_page_that_two_steps_fetch_is_changed_once() -> None:
    spec = cast(dict[str, list[JSONValue]], list_spec())
    again: JSONValue = {"id": "again", "actor": "fetch", "config": {"url": "${inputs.url}"}}
    spec["steps"] += [again, spec["steps"][1]]
    pages = {f"{HOME}/workshop/tools": html(f"<ul>{OLD_LIST}</ul>"), f"{HOME}/": html("")}
    proposal = one((await repairs(cast(JSONValue, spec), {**pages, **detail_pages()}))[0])
    apply_changes(cast(JSONValue, spec), proposal.changes)


async def test_list_does_not_take_the_place_of_the_page_of_a_record() -> None:
    spec: JSONValue = {
        "steps": [
            {"actor": "fetch", "config": {"url": f"{HOME}/tools/special"}},
            {"actor": "extract_detail", "config": {"schema": {"title": "h1"}}},
        ]
    }
    pages = {f"{HOME}/": html(""), f"{HOME}/workshop/tools": html(f"<ul>{OLD_LIST}</ul>")}
    assert "no stored row has its address" in unsure((await repairs(spec, pages))[0]).reason
