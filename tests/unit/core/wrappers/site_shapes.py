"""Pages of sites of several shapes, with the rows that a run stored: an offline corpus for redesigns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turbohtml import parse

from agentic.core.types import JSONValue
from agentic.core.wrappers import Kind, Locator, LocatorKind, Observation, PageTree, Wrapper, learn

Row = Mapping[str, JSONValue]


@dataclass(frozen=True)
class SiteShape:
    """A kind of site.

    Attributes:
        name: Of it.
        template: A page; ``{name}`` stands for a value, items of a list are joined by ``item``.
        selectors: Field -> its selector.
        kinds: Of the fields that are not texts.
        item: An item of a list.
        rows: Of its pages.
    """

    name: str
    template: str
    selectors: Mapping[str, str]
    kinds: Mapping[str, Kind]
    item: str
    rows: Sequence[Row]

    def html(self, row: Row) -> str:
        """Return the page of a row."""
        return self.template.format(**{name: self._shown(value) for name, value in row.items()})

    def _shown(self, value: JSONValue) -> str:
        return "".join(self.item.format(one) for one in value) if isinstance(value, list) else str(value)

    def learnt(self) -> dict[str, Wrapper]:
        """Return what a run over all pages learnt."""
        wrappers = {
            name: Wrapper(
                name,
                self.kinds.get(name, Kind.TEXT),
                isinstance(self.rows[0][name], list),
                locators=(Locator(LocatorKind.CSS, selector),),
            )
            for name, selector in self.selectors.items()
        }
        for number, row in enumerate(self.rows):
            tree = PageTree(parse(self.html(row), positions=False))
            found = {name: wrapper.locators[0].find(tree) for name, wrapper in wrappers.items()}
            wrappers = learn(wrappers, Observation(tree, str(number), found, row))
        return wrappers


_ARTICLE = SiteShape(
    "article",
    """<html><head><title>{title} - The Harbour Post</title></head><body>
    <header class="top"><a href="/">The Harbour Post</a><nav><a>World</a> <a>Sport</a></nav></header>
    <main><article class="story"><h1 class="headline">{title}</h1>
    <p class="standfirst">{summary}</p>
    <div class="meta">By <a class="author" href="/a">{author}</a> <span class="minutes">{minutes} min</span>
    </div>
    <div class="body">{body}</div></article>
    <aside class="more"><h3>Most read</h3><ul><li><a>Storm closes the pier</a></li>
    <li><a>Ferry prices rise again</a></li></ul></aside></main></body></html>""",
    {
        "title": "h1.headline",
        "summary": "p.standfirst",
        "author": "a.author",
        "minutes": "span.minutes",
        "body": "div.body p.text",
    },
    {"minutes": Kind.DURATION},
    "<p class='text'>{}</p>",
    (
        {
            "title": "Old lighthouse opens its doors to visitors",
            "summary": "After nine years of repairs, the tower can be climbed from Saturday on.",
            "author": "Ines Fuhrmann",
            "minutes": 4,
            "body": [
                "The lighthouse at the north end has been closed since a winter storm broke its stairs.",
                "Volunteers carried two hundred new steps up the rock by hand.",
                "Tickets are sold at the harbour office, and children climb for nothing.",
            ],
        },
        {
            "title": "Council votes for a second tram line",
            "summary": "The line will join the station with the new hospital in four years.",
            "author": "Tom Abara",
            "minutes": 7,
            "body": [
                "The vote was close, and took place after six hours of debate on Tuesday night.",
                "Shopkeepers along the route fear two summers of building works.",
            ],
        },
        {
            "title": "Oyster farmers count a record harvest",
            "summary": "Warm water and a calm spring made shells grow faster than ever before.",
            "author": "Maren Holt",
            "minutes": 3,
            "body": [
                "More than forty tonnes were taken from the bay in a single week.",
                "Prices at the market fell by a third, to the joy of the restaurants.",
                "Biologists warn that the next summer may be too hot.",
            ],
        },
    ),
)
_JOB = SiteShape(
    "job",
    """<html><head><title>{title} | Jobs</title></head><body><div id="page">
    <div class="crumbs"><a>Jobs</a> &gt; <a>Open positions</a></div>
    <section class="job"><h2 class="position">{title}</h2>
    <table class="facts"><tr><th>Employer</th><td class="company">{company}</td></tr>
    <tr><th>Place</th><td class="place">{place}</td></tr>
    <tr><th>Salary</th><td class="salary">{salary} EUR</td></tr>
    <tr><th>Hours per week</th><td class="hours">38</td></tr></table>
    <h3>Your tasks</h3><ul class="tasks">{tasks}</ul></section>
    <footer><p>Questions? Call 030 1234567.</p></footer></div></body></html>""",
    {
        "title": "h2.position",
        "company": "td.company",
        "place": "td.place",
        "salary": "td.salary",
        "tasks": "ul.tasks li",
    },
    {"salary": Kind.NUMBER},
    "<li>{}</li>",
    (
        {
            "title": "Welder for railway bridges",
            "company": "Nordstahl Works",
            "place": "Bremerhaven",
            "salary": 3450,
            "tasks": ["weld girders on site", "read technical drawings", "train two apprentices"],
        },
        {
            "title": "Night baker",
            "company": "Korn and Sons",
            "place": "Leipzig",
            "salary": 2680,
            "tasks": ["prepare the dough", "bake rye bread and rolls"],
        },
        {
            "title": "Laboratory assistant in water quality",
            "company": "City Waterworks",
            "place": "Augsburg",
            "salary": 3120,
            "tasks": ["take samples from wells", "run the mass spectrometer", "write the weekly report"],
        },
    ),
)
_HOTEL = SiteShape(
    "hotel",
    """<html><head><title>{title}, rooms and prices</title></head><body><div class="wrap"><div class="left">
    <h1 itemprop="name" class="name">{title}</h1><p class="street">{street}</p>
    <div class="scores"><span>Guests say</span><b class="score">{score}</b><span>from</span>
    <i class="reviews">{reviews}</i></div></div>
    <div class="right"><div class="offer"><span>from</span><strong class="price">{price}</strong>
    <span>a night</span></div></div><div class="extras"><h4>In the house</h4>{extras}</div>
    <div class="near"><h4>Hotels nearby</h4><div><b>Hotel Sonne</b><span>7.9</span><span>88</span></div>
    <div><b>Pension Adler</b><span>8.4</span><span>64</span></div></div></div></body></html>""",
    {
        "title": "h1.name",
        "street": "p.street",
        "score": "b.score",
        "reviews": "i.reviews",
        "price": "strong.price",
        "extras": "div.extras p.extra",
    },
    {"score": Kind.NUMBER, "reviews": Kind.NUMBER, "price": Kind.NUMBER},
    "<p class='extra'>{}</p>",
    (
        {
            "title": "Hotel zur Alten Post",
            "street": "Marktplatz 3, Rothenburg",
            "score": 8.7,
            "reviews": 1204,
            "price": 112,
            "extras": ["sauna", "garage for bicycles", "breakfast until noon"],
        },
        {
            "title": "Seaside Lodge",
            "street": "Deichweg 21, Husum",
            "score": 9.1,
            "reviews": 356,
            "price": 138,
            "extras": ["view of the sea", "dogs are welcome"],
        },
        {
            "title": "Green Courtyard Rooms",
            "street": "Lindenallee 8, Weimar",
            "score": 8.2,
            "reviews": 77,
            "price": 69,
            "extras": ["garden", "shared kitchen", "library"],
        },
    ),
)
SHAPES = (_ARTICLE, _JOB, _HOTEL)
