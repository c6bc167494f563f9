"""Lists whose rows differ in markup, sections or the marks around values, as on forums and in old tables."""

from __future__ import annotations

from tests.integration.executors.example_sites import (
    COUNTS,
    DAYS,
    IN_DOLLARS,
    MAKERS,
    NUMBERS,
    PRICES,
    SITES,
    TITLES,
    TOWNS,
    ExampleSite,
    dollars,
    records,
    shell,
    site,
)

__all__ = ["SITES"]

MONTHS = ("January", "March", "May", "June")
VIEWS = [count * 37 + 5 for count in COUNTS]


@site
def marks_around_values() -> ExampleSite:
    rows = "".join(
        f"<li><img alt='{MAKERS[n]}' src='/{n}.png'><a href='{{}}/p/{n}'>{TITLES[n]}</a> "
        f"<span class=source>({TOWNS[n]})</span> "
        f"<span class=by><a href='/u/{n}'>{MAKERS[n]}</a>, </span></li>"
        for n in NUMBERS
    )
    return ExampleSite({"/": shell(f"<ol>{rows}</ol>")}, records(title=TITLES, source=TOWNS, author=MAKERS))


@site
def thousands_among_small_counts() -> ExampleSite:
    rows = "".join(
        f"<div class=topic><h3><a href='{{}}/t/{n}'>{TITLES[n]}</a></h3><ul><li>Replies: {COUNTS[n]}</li>"
        f"<li>Views: {VIEWS[n]:,}</li></ul></div>"
        for n in NUMBERS
    )
    return ExampleSite(
        {"/": shell(rows)},
        records(title=TITLES, replies=list(map(float, COUNTS)), views=list(map(str, VIEWS))),
        shown=(0, 1, 2),
    )


@site
def codes_with_zeros_ahead() -> ExampleSite:
    codes = [f"0{5000 + 17 * n}" for n in NUMBERS]
    rows = "".join(
        f"<div class=item><b>{TITLES[n]}</b><p>Product code: {codes[n]}</p><p>{IN_DOLLARS[n]}</p></div>"
        for n in NUMBERS
    )
    return ExampleSite({"/": shell(rows)}, records(title=TITLES, code=codes, price=IN_DOLLARS))


@site
def days_before_other_texts() -> ExampleSite:
    days = [f"3/{10 + n}" for n in NUMBERS]
    rows = "".join(
        f"<div class=event><p class=when>{days[n]} <span>{('Mon', 'Tue', 'Wed')[n % 3]}</span>"
        f"<time>{n % 12 + 1}:00 PM</time></p><p><a href='{{}}/e/{n}'>{TITLES[n]}</a></p></div>"
        for n in NUMBERS
    )
    return ExampleSite({"/": shell(rows)}, records(title=TITLES, day=days))


@site
def numbers_and_names_parted_by_breaks() -> ExampleSite:
    numbers = [f"20{10 + n}-{1500 + 7 * n:04}" for n in NUMBERS]
    rows = "".join(
        f"<tr><td>{DAYS[n]}</td><td>{'Civil Action' if n % 3 else 'Criminal'} No. {numbers[n]}<br>"
        f"{TITLES[n]} v. "
        f"{TOWNS[n]}</td><td><a href='{{}}/d/{n}'>{n + 7}</a> (opinion)<br> by Judge {MAKERS[n]}</td></tr>"
        for n in NUMBERS
    )
    return ExampleSite(
        {"/": shell(f"<table>{rows}</table>")},
        records(link=[f"{{}}/d/{n}" for n in NUMBERS], number=numbers, judge=MAKERS),
        key="number",
    )


@site
def months_as_rows_of_their_own() -> ExampleSite:
    days = [f"{MONTHS[n // 3]} {n + 3}, 2026" for n in NUMBERS]
    numbers = [f"{6400 + 7 * n}{'-A' if n % 5 == 4 else ''}" for n in NUMBERS]
    rows = "".join(
        (f"<tr><td><span>{MONTHS[n // 3]}</span></td><td></td><td></td></tr>" if n % 3 == 0 else "")
        + f"<tr><td>{days[n]}</td><td>{numbers[n]}</td><td>{TITLES[n]}</td></tr>"
        for n in NUMBERS
    )
    return ExampleSite(
        {"/": shell(f"<table>{rows}</table>")}, records(title=TITLES, day=days, number=numbers)
    )


@site
def rows_in_panels_of_a_day() -> ExampleSite:
    panels = "".join(
        f"<div class=day><input type=button value='{DAYS[at]}'><div class=inner>"
        "<div class=panel><div class=group>"
        + "".join(
            f"<div class=case><b>SC{900 + n}: </b><a href='{{}}/s/{n}'><b>Summary</b></a><br>"
            f"<a href='{{}}/o/{n}'>{TITLES[n]} v. State</a><br><b>Author: </b>Judge {MAKERS[n]}<br>"
            f"<b>Vote:</b> AFFIRMED. {'All judges concur. ' * 20}</div>"
            for n in range(at, at + size)
        )
        + "</div></div></div></div>"
        for at, size in ((0, 2), (2, 1), (3, 4), (7, 1), (8, 4))
    )
    cases = [f"SC{900 + n}" for n in NUMBERS]
    authors = [f"Judge {maker}" for maker in MAKERS]
    return ExampleSite({"/": shell(panels)}, records(case=cases, author=authors), key="case")


@site
def columns_with_numbers_in_their_classes() -> ExampleSite:
    def tile(n: int) -> str:
        return (
            f"<div class=tile><img src='/{n}.jpg'><a href='{{}}/p/{n}'></a><div class=text>"
            f"<span class=age>{n + 2} hours ago</span>"
            f"<h2><a href='{{}}/p/{n}'>{TITLES[n]}</a></h2></div></div>"
        )

    halves = (NUMBERS[:5], NUMBERS[5:])
    columns = "".join(
        f"<div class=featured_{len(half) - 2}>{''.join(map(tile, half))}</div>" for half in halves
    )
    return ExampleSite(
        {"/": shell(f"<section class=featured>{columns}</section>")},
        records(title=TITLES, age=[f"{n + 2} hours ago" for n in NUMBERS]),
        shown=(3, 4, 5),
    )


@site
def titles_in_a_side_list_too() -> ExampleSite:
    posts = "".join(
        f"<article class=post><h1><a href='{{}}/?p={n}'>{TITLES[n]}</a></h1>"
        f"<p>{MAKERS[n]} saw it.</p></article>"
        for n in NUMBERS
    )
    recent = "".join(f"<li><a href='{{}}/?p={n}'>{TITLES[n]}</a></li>" for n in NUMBERS[:5])
    kinds = "".join(f"<li><a href='{{}}/cat/{n}'>Topic {n}</a></li>" for n in range(15))
    side = f"<aside class=widget><ul>{recent}</ul></aside><aside class=widget><ul>{kinds}</ul></aside>"
    links = [f"{{}}/?p={n}" for n in NUMBERS]
    return ExampleSite({"/": shell(f"<main>{posts}{side}</main>")}, records(title=TITLES, link=links))


@site
def counts_that_are_equal_in_some_rows() -> ExampleSite:
    votes = [1, 0, 0, 2, 0, 0, 3, 5, 1, 0, 4, 0]
    answers = [2, 0, 0, 2, 1, 3, 0, 1, 0, 0, 6, 1]
    rows = "".join(
        f"<div class=question><div class=votes><div class=mini>"
        f"<span title='{votes[n]} votes'>{votes[n]}</span></div></div>"
        f"<div class='status'><div class=mini>"
        f"<span title='{answers[n]} answers'>{answers[n]}</span></div></div>"
        f"<h3><a href='{{}}/q/{n}'>{TITLES[n]}</a></h3></div>"
        for n in NUMBERS
    )
    return ExampleSite(
        {"/": shell(rows)},
        records(title=TITLES, answers=list(map(str, answers)), votes=list(map(str, votes))),
    )


@site
def cells_with_other_markup_in_some_rows() -> ExampleSite:
    areas = [("East", "West", "")[n % 3] for n in NUMBERS]
    leagues = [f"{TOWNS[n]}{f' ({areas[n]})' if areas[n] else ''}" for n in NUMBERS]
    rows = "".join(
        f"<tr><td class=left><a href='{{}}/s/{n}'>{TITLES[n]}</a> ({n}-2)</td>"
        f"<td class=left>{'<a href=/u><b><em>' if n == 0 else '<a href=/u>'}{MAKERS[n]}"
        f"{'</em></b></a>' if n == 0 else '</a>'}<br><small>Member</small></td>"
        f"<td class=left><a href=/l>{TOWNS[n]}</a>{f' ({areas[n]})' if areas[n] else ''}</td></tr>"
        for n in NUMBERS
    )
    teams = [f"{TITLES[n]} ({n}-2)" for n in NUMBERS]
    table = f"<table><tr><th>Team</th><th>Coach</th><th>League</th></tr>{rows}</table>"
    return ExampleSite({"/": shell(table)}, records(team=teams, coach=MAKERS, league=leagues), key="team")


@site
def names_that_titles_have_too() -> ExampleSite:
    titles = ["Plantblog", *(f"The Plantblog of {title}" for title in TITLES[1:])]
    topics = ["Plantblog" if n % 4 != 1 else "Uncategorized" for n in NUMBERS]
    rows = "".join(
        f"<div class=post><h2><a rel=bookmark href='{{}}/p/{n}'>{titles[n]}</a></h2>"
        f"<p class=meta>{DAYS[n]} · Filed under <a href='{{}}/c/{n % 4}'>{topics[n]}</a></p></div>"
        for n in NUMBERS
    )
    return ExampleSite(
        {"/": shell(rows)}, records(title=titles, category=topics), shown=(0, 2, 6), key="title"
    )


@site
def links_that_show_their_address() -> ExampleSite:
    links = [f"https://shop{n}.example/{'lamps' * (n in (1, 2, 3))}" for n in NUMBERS]
    rows = "".join(
        f"<div class=result><h2><a href='{links[n]}'>{TITLES[n]}</a></h2>"
        f"<div class=address>{links[n].removesuffix('/')}</div><p>All of {MAKERS[n]}</p></div>"
        for n in NUMBERS
    )
    return ExampleSite({"/": shell(rows)}, records(title=TITLES, link=links))


@site
def small_numbers_before_the_table() -> ExampleSite:
    chart = "".join(f"<li><span>{n % 9}</span><span>2 to {n % 7}</span></li>" for n in range(250))
    rows = "".join(
        f"<tr><th>{n + 1}</th><td>{DAYS[n]}</td><td>{TOWNS[n]}</td><td>{COUNTS[n] % 9}</td></tr>"
        for n in NUMBERS
    )
    head = "<tr><th>Game</th><th>Day</th><th>Town</th><th>Goals</th></tr>"
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    return ExampleSite(
        {"/": shell(f"<ul class=chart>{chart}</ul>{table}")},
        records(game=[str(n + 1) for n in NUMBERS], day=DAYS, goals=[str(count % 9) for count in COUNTS]),
        key="game",
    )


@site
def prices_that_are_reduced_in_some_rows() -> ExampleSite:
    reduced = [n % 4 == 3 and n > 3 for n in NUMBERS]
    rows = "".join(
        f"<li class=item><h2><a href='{{}}/p/{n}'>{TITLES[n]}</a></h2><div class=price-box>"
        + (
            f"<p class=old-price>Was: <span class=price>{dollars(PRICES[n] * 2)}</span></p>"
            f"<p class=special-price>Now: <span class=price>{IN_DOLLARS[n]}</span></p>"
            if reduced[n]
            else f"<span class=regular-price><span class=price>{IN_DOLLARS[n]}</span></span>"
        )
        + "</div></li>"
        for n in NUMBERS
    )
    return ExampleSite(
        {"/": shell(f"<ul>{rows}</ul>")},
        records(title=TITLES, price=IN_DOLLARS),
        shown=(1, 2, 7),
    )
