"""Values that no element has for itself, and places that a page without the value must not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.unit.core.wrappers.pages import tree_of
from turbohtml import parse

from agentic.core.wrappers import BuiltField, PageTree, find_examples


def built(bodies: Sequence[str], rows: Sequence[Mapping[str, str]]) -> BuiltField:
    """Return the only field that was found by examples of the first pages."""
    (found,) = find_examples([tree_of(body) for body in bodies], rows).values()
    assert found is not None
    return found


def read(field: BuiltField, body: str) -> list[str]:
    """Return what each place of a field gives on another page: its first text."""
    document = parse(body)
    texts = []
    for one in field.locators:
        hits: object = document.select(one.path) if one.kind == "selector" else document.xpath(one.path)
        assert isinstance(hits, list)
        texts += [" ".join(str(getattr(hit, "text", hit)).split()) for hit in hits[:1]]
    return texts


def book(pages: str, vendor: str, size: str) -> str:
    return (
        "<div class=info><h2>Amber<span> : a tale</span></h2>"
        f"<b>Pages:</b> {pages}<br><b>Vendor:</b> {vendor}<br><b>Size:</b> {size}<br>In Stock</div>"
    )


BOOKS = [
    book("96", "Ada House", "7 X 5"),
    book("144", "Birch &amp; Sons", "9 X 6"),
    book("240", "Coral", "8 X 5"),
]


@pytest.mark.parametrize(
    ("name", "values", "other"),
    [
        ("pages", ["96", "144", "240"], "512"),
        ("vendor", ["Ada House", "Birch & Sons", "Coral"], "Dune"),
        ("format", ["7 X 5", "9 X 6", "8 X 5"], "6 X 4"),
    ],
)
def test_value_between_line_breaks_is_found_by_the_label_before_it(
    name: str, values: Sequence[str], other: str
) -> None:
    field = built(BOOKS, [{name: value} for value in values])
    assert len(field.locators) > 1
    assert field.texts == tuple((value,) for value in values)
    assert set(read(field, book("512", "Dune", "6 X 4"))) == {other}


def test_label_without_a_value_does_not_give_the_next_value() -> None:
    field = built(BOOKS, [{"pages": "96"}, {"pages": "144"}, {"pages": "240"}])
    lacking = "<div class=info><b>Pages:</b><br><b>Vendor:</b> 12<br></div>"
    assert read(field, lacking) == []
    assert read(field, "<div class=info><b>Vendor:</b> 12<br></div>") == []


def test_line_that_begins_with_its_label_is_found_by_it() -> None:
    def shop(phone: str, fax: str) -> str:
        return f"<div><p><i>Visit us</i><br>Phone: {phone}<br>Fax: {fax}<br></p></div>"

    bodies = [shop("020 111", "020 222"), shop("020 333", "020 444")]
    field = built(bodies, [{"fax": "020 222"}, {"fax": "020 444"}])
    assert field.label == "Fax:"
    assert set(read(field, shop("020 555", "020 666"))) == {"Fax: 020 666"}
    assert field.regex
    assert read(field, "<div><p><i>Visit us</i><br>Phone: 020 777<br></p></div>") == []


def test_text_of_an_element_beside_its_parts_is_taken_alone() -> None:
    heads = [
        "<h2 class=name>{}<span class=sub> : {}</span></h2>".format(*one)
        for one in (("Amber", "a tale"), ("Birch", "a story (paper)"), ("Coral", "notes"))
    ]
    field = built(heads, [{"title": "Amber"}, {"title": "Birch"}, {"title": "Coral"}])
    assert set(read(field, "<h2 class=name>Dune<span class=sub> : more</span></h2>")) == {"Dune"}


def spec(**values: str) -> str:
    rows = "".join(
        f"<div class=item><div class=tip>{name}:</div><div class=both><div class=k>{name}:</div>"
        f"<div class=v>{value}</div></div></div>"
        for name, value in values.items()
    )
    return f"<div class=specs>{rows}</div>"


def test_first_of_several_values_of_one_class_is_found_by_its_label() -> None:
    bodies = [spec(Height="41 cm", Width="50 cm"), spec(Height="13 cm", Width="11 cm")]
    field = built(bodies, [{"height": "41 cm"}, {"height": "13 cm"}])
    assert len(field.locators) > 1
    assert read(field, spec(Width="90 cm", Weight="2 kg")) == []
    assert set(read(field, spec(Width="90 cm", Height="7 cm"))) == {"7 cm"}


def test_number_above_its_name_is_found_by_the_name() -> None:
    def cards(**numbers: str) -> str:
        both = "".join(
            f"<div class=card><p class=n>{number}</p><p class=name>{name.title()} roles</p></div>"
            for name, number in numbers.items()
        )
        return f"<div class=cards>{both}</div>"

    bodies = [cards(open="11", remote="4"), cards(open="9", remote="2")]
    field = built(bodies, [{"remote": "4"}, {"remote": "2"}])
    assert set(read(field, cards(remote="7", closed="3"))) == {"7"}
    assert read(field, cards(open="7", closed="3")) == []


def test_label_with_a_space_that_does_not_break_is_no_obstacle() -> None:
    label = "<b>Price&nbsp;now:</b>"
    bodies = [f"<p>{label}</p><div>{label}<span class=x>{n}</span></div><p>{label}</p>" for n in ("5", "7")]
    assert built(bodies, [{"price": "5"}, {"price": "7"}]).texts == (("5",), ("7",))


def test_price_of_before_is_passed_over_where_a_page_strikes_prices() -> None:
    more = "<div class=more><del><b class=amount>$9</b></del></div>"
    bodies = [f"<p class=price><b class=amount>${n}</b></p>{more}" for n in (20, 30)]
    field = built(bodies, [{"price": "$20"}, {"price": "$30"}])
    reduced = "<p class=price><del><b class=amount>$50</b></del> <ins><b class=amount>$40</b></ins></p>"
    assert read(field, reduced)[0] == "$40"


def test_name_in_the_path_to_a_page_is_no_title() -> None:
    path = "<nav class=breadcrumb>Home / <span class=current>{}</span></nav>"
    bodies = [f"{path.format(name)}<h1>{name}</h1>" for name in ("Amber", "Birch")]
    field = built(bodies, [{"title": "Amber"}, {"title": "Birch"}])
    assert read(field, f"{path.format('A desk with a lon')}<h1>A desk with a long name</h1>")[0] == (
        "A desk with a long name"
    )


def test_element_with_the_value_alone_goes_before_one_that_may_have_more() -> None:
    bodies = [f"<div class=head><h1>{name}</h1></div>" for name in ("Amber", "Birch")]
    field = built(bodies, [{"title": "Amber"}, {"title": "Birch"}])
    assert read(field, "<div class=head><h1>Coral</h1><a>&gt;</a></div>")[0] == "Coral"


def test_amount_with_a_unit_is_not_cut_into_its_parts() -> None:
    bodies = [f"<div class=time><span class=part>{n} minutes</span></div>" for n in (5, 20)]
    field = built(bodies, [{"time": "5 minutes"}, {"time": "20 minutes"}])
    other = "<div class=time><span class=part>1 hour</span> <span class=part>30 minutes</span></div>"
    assert read(field, other)[0] == "1 hour 30 minutes"


def test_day_with_dots_is_no_amount() -> None:
    bodies = [
        f"<ul><li class=life>born {day} <i>({age})</i><br>Oslo</li></ul>"
        for day, age in (("12.9.1957", "59"), ("26.12.1986", "30"))
    ]
    field = built(bodies, [{"born": "12.9.1957"}, {"born": "26.12.1986"}])
    assert field.type == "date"


def test_text_that_holds_its_example_in_another_way_is_not_right() -> None:
    bodies = [
        "<p class=v>41 cm</p><p class=w>41 cm</p>",
        "<p class=v>13 cm x 13 cm</p><p class=w>13 cm</p>",
        "<p class=v>11 cm</p><p class=w>11 cm</p>",
    ]
    field = built(bodies, [{"height": "41 cm"}, {"height": "13 cm"}, {"height": "11 cm"}])
    assert field.texts == (("41 cm",), ("13 cm",), ("11 cm",))


def test_element_with_several_amounts_is_not_taken_for_the_first_one() -> None:
    bodies = [
        f"<div id=p><ul><li><span>{n}</span> stars</li><li><span>{7 - n}</span> votes</li></ul></div>"
        for n in (4, 3, 1)
    ]
    field = built(bodies, [{"stars": "4"}, {"stars": "3"}, {"stars": "1"}])
    assert [texts[0].partition(" ")[0] for texts in field.texts] == ["4", "3", "1"]
    assert "votes" not in "".join(texts[0] for texts in field.texts)


def test_value_in_a_menu_is_not_taken_for_the_value_of_the_page() -> None:
    menu = "<nav><ul class=genre><li>Action</li><li>Drama</li></ul></nav>"
    tree = PageTree(parse(f"{menu}<div class=facts><p><b>Genre:</b> <a>Action</a></p></div>"))
    field = find_examples([tree], [{"genre": "Action"}])["genre"]
    assert field is not None
    assert read(field, f"{menu}<div class=facts><p><b>Genre:</b> <a>Drama</a></p></div>")[0] == "Drama"


def test_names_that_xpath_cannot_write_are_passed_over() -> None:
    def body(pages: str) -> str:
        return (
            f"<div data-@click=x><o:p class='a\"b' aria-label='of \"it\"'>Pages:</o:p> {pages}<br>"
            f"<span aria-label='say \"now\"'>Size:</span><i>{pages}0</i></div>"
        )

    rows = [{"pages": "96", "size": "960"}, {"pages": "144", "size": "1440"}]
    found = find_examples([tree_of(body("96")), tree_of(body("144"))], rows)
    for name, wanted in (("pages", "7"), ("size", "70")):
        field = found[name]
        assert field is not None
        assert set(read(field, body("7"))) == {wanted}


def test_attribute_of_a_label_is_not_taken_for_the_label() -> None:
    def body(first: str, second: str) -> str:
        return (
            f"<p><b itemprop=size>Alpha</b><i>{first}</i></p><p><b itemprop=size>Beta</b><i>{second}</i></p>"
        )

    field = built([body("5", "6"), body("7", "8")], [{"beta": "6"}, {"beta": "8"}])
    assert set(read(field, body("1", "2"))) == {"2"}
