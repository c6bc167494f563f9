"""The behaviour that no refactoring may change. In the sandbox, the code is the module `main`."""

from main import total


def test_books_have_a_low_tax_or_none():
    assert total([{"kind": "book", "price": 10}], "NO") == 10
    assert total([{"kind": "book", "price": 10}], "DE") == 10.5


def test_other_things_have_the_full_tax():
    assert total([{"kind": "lamp", "price": 100}], "NO") == 125
    assert total([{"kind": "lamp", "price": 100}, {"kind": "book", "price": 10}], "DE") == 129.5
