"""Functions in Python files as actors."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.core.actors import ActorContext, ActorError
from agentic.core.actors.own_code import OwnCodeError, load_own_code, own_name
from agentic.core.hooks import get_registry
from agentic.core.hooks.offers import is_own_code
from agentic.core.http import Fetcher, HttpPolicy
from agentic.core.pipeline import SpecError, load_spec, parse_spec
from agentic.core.pipeline.spec.spec import ActorStep
from agentic.core.pipeline.spec.versions import version_of
from agentic.plugins.web.settings import WebSettings

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start in a folder without files; no folder is on the module path."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.delenv("AGENTIC_MODULE_PATH", raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "shop.py") -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


async def call(path: Path, function: str, **given: Any) -> Any:
    actor = load_own_code(own_name(f"./{path.name}:{function}", path.parent, is_trusted=True))
    ctx = ActorContext(http=Fetcher(HttpPolicy(), object()))  # type: ignore[arg-type]
    output = await actor().run(ctx, actor.Input.model_validate(given))
    return output.model_dump()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("./shop.py:clean", True),
        ("shop.py:clean", True),
        ("../a b/shop.py:clean", True),
        ("/srv/shop.py:clean", True),
        ("shop:clean", False),
        ("./shop.py", False),
        (".py:clean", False),
        ("./shop.py:", False),
        ("./shop.py:1", False),
        ("fetch", False),
        (None, False),
    ],
)
def test_a_file_and_a_function_are_told_from_other_names(name: object, expected: bool) -> None:
    assert is_own_code(name) is expected


SHOP = """
    from __future__ import annotations
    from collections.abc import AsyncIterator, Iterator
    from dataclasses import dataclass
    from typing import TypedDict
    from pydantic import BaseModel
    from agentic.core.actors import ActorContext, LinksOutput, Page
    import beside

    class Product(BaseModel):
        name: str
        price: float = 1.0

    @dataclass
    class Offer:
        name: str

    class Row(TypedDict):
        name: str

    def item(item: dict, factor: int = 2) -> dict:
        return {**item, "n": item["n"] * factor}
    async def model(item: Product) -> Product:
        return Product(name=item.name.upper(), price=item.price + 1)
    def offer(name: str) -> Offer: return Offer(name)
    def row(name: str) -> Row: return {"name": name}
    def maybe(item: dict) -> dict | None: return item if item["n"] else None
    def rows(count: int) -> list[dict]: return [{"n": n} for n in range(count)]
    def generated(count: int) -> Iterator[Offer]:
        yield from (Offer(str(n)) for n in range(count))
    async def streamed(count: int) -> AsyncIterator[dict]:
        for n in range(count): yield {"n": n}
    def value(text: str) -> int: return len(text)
    def texts() -> list[str]: return ["a"]
    def links() -> LinksOutput: return LinksOutput(list_item_urls=("http://a.example/",))
    def nothing(item: dict) -> None: ...
    def with_context(ctx: ActorContext) -> str: return ctx.http.policy.user_agent[:7]
    def helped(word) -> str: return beside.upper(word)
    def broken(item: dict) -> dict:
        return {"p": item["price"]}
    def wrong(item: dict) -> dict: return [item]
    def bare(item: dict): return item
    def starred(*items) -> dict: return {}
    VALUE = 5
"""


@pytest.fixture
def shop(write: Write) -> Path:
    write("def upper(word): return word.upper()", "beside.py")
    return write(SHOP)


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        ("item", {"item": {"n": 2}}, {"item": {"n": 4}}),
        ("item", {"item": {"n": 2}, "factor": 5}, {"item": {"n": 10}}),
        ("model", {"item": {"name": "a"}}, {"item": {"name": "A", "price": 2.0}}),
        ("offer", {"name": "a"}, {"item": {"name": "a"}}),
        ("row", {"name": "a"}, {"item": {"name": "a"}}),
        ("maybe", {"item": {"n": 0}}, {"items": ()}),
        ("maybe", {"item": {"n": 1}}, {"items": ({"n": 1},)}),
        ("rows", {"count": 2}, {"items": ({"n": 0}, {"n": 1})}),
        ("generated", {"count": 1}, {"items": ({"name": "0"},)}),
        ("streamed", {"count": 2}, {"items": ({"n": 0}, {"n": 1})}),
        ("value", {"text": "abc"}, {"value": 3}),
        ("texts", {}, {"value": ["a"]}),
        ("links", {}, {"list_item_urls": ("http://a.example/",), "next_url": None, "title": None}),
        ("nothing", {"item": {}}, {}),
        ("with_context", {}, {"value": "agentic"}),
        ("helped", {"word": "a"}, {"value": "A"}),
    ],
)
async def test_annotations_say_what_a_function_takes_and_gives(
    shop: Path, function: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert await call(shop, function, **given) == expected


async def test_a_fault_of_a_function_names_its_line(shop: Path) -> None:
    with pytest.raises(ActorError, match=r"shop\.py:broken line \d+: KeyError: 'price'") as caught:
        await call(shop, "broken", item={})
    assert caught.value.failure_class == "error"
    with pytest.raises(ActorError, match=r"shop.py:wrong\(\) returned list as an item"):
        await call(shop, "wrong", item={})


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("bare", "has no annotation for its result; add -> dict"),
        ("starred", "'\\*items' cannot be given by name"),
        ("itme", "has no function 'itme'; its functions: item, model"),
        ("VALUE", "something else than a function as 'VALUE'"),
    ],
)
def test_a_function_that_cannot_be_used_is_refused_with_the_next_step(
    shop: Path, function: str, said: str
) -> None:
    with pytest.raises(OwnCodeError, match=said):
        load_own_code(own_name(f"./shop.py:{function}", shop.parent, is_trusted=True))


def test_a_file_that_cannot_be_imported_names_the_line(write: Write) -> None:
    path = write("x = 1\ny = x +\n")
    with pytest.raises(OwnCodeError, match=r"shop\.py cannot be imported: line 2: SyntaxError"):
        load_own_code(own_name("./shop.py:f", path.parent, is_trusted=True))
    path = write("x = 1\n\nimport no_such_module\n")
    with pytest.raises(OwnCodeError, match=r"line 3: ModuleNotFoundError: No module named 'no_such_module'"):
        load_own_code(own_name("./shop.py:f", path.parent, is_trusted=True))


def test_only_files_that_somebody_trusts_are_run(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("print('run')\ndef f() -> None: ...\n", "trap.py")
    for name in (f"{path}:f", "../trap.py:f", "./trap.py:f"):
        with pytest.raises(OwnCodeError, match=r"may not be loaded here: .*AGENTIC_MODULE_PATH"):
            load_own_code(name)
    monkeypatch.setenv("AGENTIC_MODULE_PATH", f'["{path.parent}"]')
    assert load_own_code("./trap.py:f").name == "./trap.py:f"
    assert own_name("trap.py:f", path.parent, is_trusted=True) == "./trap.py:f"
    with pytest.raises(OwnCodeError, match=r"may not be loaded here"):
        load_own_code("./../../outside.py:f")
    with pytest.raises(OwnCodeError, match=r"does not exist \(looked for"):
        load_own_code("./missing.py:f")


@pytest.mark.parametrize("folder", [".agentic/files/downloads", ".venv/lib", "home/files"])
def test_what_others_put_below_the_module_path_is_not_run(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_MODULE_PATH", f'["{tmp_path}"]')
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    trap = tmp_path / folder / "trap.py"
    trap.parent.mkdir(parents=True)
    trap.write_text("raise SystemExit\n")
    with pytest.raises(OwnCodeError, match="may not be loaded here"):
        load_own_code(f"./{folder}/trap.py:f")


def test_a_pipeline_file_that_no_user_has_named_runs_no_code(shop: Path) -> None:
    file = shop.parent / "other.yaml"
    file.write_text("steps: [{actor: ./trap.py:f}]")
    (shop.parent / "trap.py").write_text("raise SystemExit\n")
    for path in (file, shop.parent / "trap.py"):
        with pytest.raises(SpecError, match=r"may not be loaded here|only files that the user of a command"):
            load_spec(path, get_registry().actors)
    with pytest.raises(ValueError, match="may not be loaded here"):
        WebSettings.model_validate({"pipeline": str(file)})


SPEC = """
steps:
  - {actor: ./shop.py:rows, config: {count: 3}}
  - type: loop
    source: items
    item_as: item
    collect: items
    loop_steps:
      - {actor: ./shop.py:maybe}
"""


def test_a_pipeline_file_finds_the_functions_beside_it(shop: Path) -> None:
    file = shop.parent / "shop.yaml"
    file.write_text(SPEC)
    spec = load_spec(file, get_registry().actors, runs_code=True)
    assert [getattr(step, "actor", "") for step in spec.steps] == [f"{shop}:rows", ""]
    with pytest.raises(SpecError, match=r"may not be loaded here"):
        parse_spec(SPEC, get_registry().actors)


def test_the_version_of_a_pipeline_changes_with_the_file(shop: Path) -> None:
    actors = get_registry().actors
    file = shop.parent / "shop.yaml"
    file.write_text(SPEC)
    first = version_of(load_spec(file, actors, runs_code=True), actors)
    assert version_of(load_spec(file, actors, runs_code=True), actors) == first
    shop.write_text(shop.read_text() + "\n# changed\n")
    assert version_of(load_spec(file, actors, runs_code=True), actors) != first


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("steps: [{actor: ./shop.py:itme}]", "line 1.*has no function 'itme'"),
        ("steps: [{actor: ./none.py:f}]", "none.py does not exist"),
        ("steps: [{actor: ./shop.py:rows, config: {cuont: 1}}]", "unknown key 'cuont'"),
        ("steps: [{actor: ./shop.py:rows, config: {count: many}}]", "valid integer"),
        (
            (
                "steps: [{type: crawl, start: 'http://a.example/', "
                "detail: {match: ['*'], actor: ./shop.py:value}}]"
            ),
            "a crawl needs an actor here that returns",
        ),
        (
            (
                "steps: [{type: crawl, start: 'http://a.example/', "
                "detail: {match: ['*'], config: {schema: {a: a}}, python: ./shop.py:value}}]"
            ),
            "a crawl needs an actor here that returns",
        ),
    ],
)
def test_a_pipeline_is_checked_with_the_types_of_its_functions(shop: Path, text: str, said: str) -> None:
    file = shop.parent / "shop.yaml"
    file.write_text(text)
    with pytest.raises(SpecError, match=said):
        load_spec(file, get_registry().actors, runs_code=True)


def steps_of(path: Path) -> list[str]:
    steps = load_spec(path, get_registry().actors, runs_code=True).steps
    return [step.actor.rpartition("/")[2] for step in steps if isinstance(step, ActorStep)]


def test_a_python_file_may_be_the_pipeline(write: Write) -> None:
    functions = "def a() -> list[dict]: return []\ndef b(items: list[dict]) -> list[dict]: return items\n"
    assert steps_of(write(functions)) == ["shop.py:a", "shop.py:b"]
    named = "pipeline = {'name': 'mine', 'steps': [{'actor': a}, {'actor': './shop.py:b'}]}\n"
    path = write(functions + named)
    assert steps_of(path) == ["shop.py:a", "shop.py:b"]
    assert load_spec(path, get_registry().actors, runs_code=True).name == "mine"
    assert steps_of(write(functions + 'pipeline = "steps: [{actor: ./shop.py:a}]"\n')) == ["shop.py:a"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "defines neither 'pipeline' nor a function"),
        ("pipeline = 5", "pipeline is a int; a pipeline is a mapping"),
        ("pipeline = {'steps': [{'actor': 'fecth'}]}", "unknown actor 'fecth'"),
        ("raise ValueError('no')", "line 1: ValueError: no"),
    ],
)
def test_a_python_file_that_is_no_pipeline_says_why(write: Write, text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        load_spec(write(text), get_registry().actors, runs_code=True)
