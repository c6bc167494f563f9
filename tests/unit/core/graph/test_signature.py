"""What makes two workflows the same, and what does not."""

from __future__ import annotations

import functools
import gc
import importlib.util
import operator
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, ClassVar
from zipfile import ZipFile

import pytest
from pydantic import BaseModel, ValidationError

from agentic.core.graph import Executor, ExecutorKind, Workflow, WorkflowBuilder, executor, handler
from agentic.core.graph.build.builder import Case, Default
from agentic.core.graph.definition.edges import Selector
from agentic.core.graph.definition.workflow import WorkflowSignature
from agentic.core.graph.model.policies import RetryPolicy
from agentic.core.graph.versions.fingerprints import fingerprint
from agentic.core.graph.versions.signature import Change, compare
from agentic.core.graph.versions.source_trees import source_tree
from agentic.core.graph.versions.type_registry import declared_types

_numbers = count()


class Node(Executor):
    @handler
    async def run(self, message: int) -> int:
        return message


class Joiner(Executor):
    @handler
    async def join(self, messages: list[int]) -> int:
        return sum(messages)


class Extending:
    """An attribute that extends its class whenever it is looked at, as another thread's first use may."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner

    @property  # type: ignore[misc]  # read by isinstance, which each reader of a class calls
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]  # it has no setter
        self._extend()
        return Extending

    def __getattr__(self, name: str) -> object:
        self._extend()
        raise AttributeError(name)

    def _extend(self) -> None:
        setattr(self._owner, f"__used_{next(_numbers)}__", True)


def load(folder: Path, source: str) -> ModuleType:
    """Import ``source`` as a module of its own, from a file."""
    path = folder / f"made_{next(_numbers)}.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def print_of(tmp_path: Path) -> Callable[[str], str]:
    """Return the fingerprint of what a source calls ``f``."""
    return lambda source: fingerprint(load(tmp_path, source).f)


PrintOf = Callable[[str], str]
Unary = Callable[[int], int]


class TestFunctions:
    def test_place_comments_docstring_and_formatting_do_not_matter(self, print_of: PrintOf) -> None:
        one = print_of("def f(x):\n    return x + 1\n")
        other = print_of(
            """
            import os  # moves everything


            def f( x ):
                '''Say more.'''

                # and why
                return (
                    x
                    + 1
                )
            """
        )
        assert one == other

    def test_a_module_in_an_archive_counts_by_its_source(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = []
        for comment in ("# one", "# other\n"):
            name = f"made_{next(_numbers)}"
            with ZipFile(tmp_path / f"{name}.zip", "w") as archive:
                archive.writestr(f"{name}.py", f"{comment}\ndef f(x):\n    return x + 1\n")
            monkeypatch.syspath_prepend(tmp_path / f"{name}.zip")
            made.append(importlib.import_module(name).f)
        assert [".zip" in function.__code__.co_filename for function in made] == [True, True]
        assert [source_tree(function) is None for function in made] == [False, False]
        assert fingerprint(made[0]) == fingerprint(made[1])

    def test_no_other_module_is_asked_for_its_file(
        self, print_of: PrintOf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str] = []

        class Other(ModuleType):
            def __getattr__(self, name: str) -> str:
                asked.append(name)
                return "elsewhere.py"

        monkeypatch.setitem(sys.modules, "an_other_module", Other("an_other_module"))
        print_of("def f(x):\n    return x + 1\n")
        assert asked == []

    def test_threads_that_read_source_at_once_do_not_disturb_each_other(self, tmp_path: Path) -> None:
        functions: list[FunctionType] = []
        for number in range(12):
            file = tmp_path / f"part{number}.py"
            lines = (f"    x = [x, {{{number}: (x, {line})}}]\n" for line in range(200))
            file.write_text(f"def f(x):\n{''.join(lines)}    return x\n")
            space: dict[str, Any] = {"__name__": f"part{number}"}
            exec(compile(file.read_text(), str(file), "exec"), space)
            functions.append(space["f"])
        before = gc.get_threshold()

        def give_way(*_: object) -> None:
            time.sleep(0)

        gc.callbacks.append(give_way)
        gc.set_threshold(50)
        try:
            with ThreadPoolExecutor(4) as threads:
                trees = list(threads.map(source_tree, functions))
        finally:
            gc.set_threshold(*before)
            gc.callbacks.remove(give_way)
        assert None not in trees
        assert len(set(trees)) == len(functions)

    def test_a_file_that_is_gone_is_not_looked_for_elsewhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = "def f(x):\n    return x + 1\n"
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "gone.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path / "elsewhere")
        space: dict[str, Any] = {"__name__": __name__}
        exec(compile(source, "gone.py", "exec"), space)
        assert source_tree(space["f"]) is None

    @pytest.mark.parametrize(
        "changed",
        [
            "def f(x):\n    return x + 2\n",
            "def f(x):\n    return x - 1\n",
            "def f(x, y=1):\n    return x + 1\n",
            "async def f(x):\n    return x + 1\n",
        ],
    )
    def test_any_other_change_matters(self, print_of: PrintOf, changed: str) -> None:
        assert print_of("def f(x):\n    return x + 1\n") != print_of(changed)

    def test_value_of_a_default_matters(self, print_of: PrintOf) -> None:
        source = "LIMIT = {}\ndef f(x, limit=LIMIT, *, other=LIMIT):\n    return x > limit\n"
        assert print_of(source.format(1)) != print_of(source.format(2))

    def test_value_in_a_closure_matters(self, print_of: PrintOf) -> None:
        source = "def make(n):\n    return lambda x: x > n\nf = make({})\n"
        assert print_of(source.format(1)) == print_of(source.format(1))
        assert print_of(source.format(1)) != print_of(source.format(2))

    def test_function_in_a_closure_counts_by_what_it_does(self, print_of: PrintOf) -> None:
        source = "def no(g):\n    return lambda x: not g(x)\ndef inner(x):\n    return {}\nf = no(inner)\n"
        assert print_of(source.format("x > 1")) == print_of(source.format("(x > 1)"))
        assert print_of(source.format("x > 1")) != print_of(source.format("x > 2"))

    def test_what_cannot_be_told_counts_by_its_type(self, print_of: PrintOf) -> None:
        source = "class A: ...\nclass B: ...\ndef make(it):\n    return lambda x: it\nf = make({})\n"
        assert print_of(source.format("A()")) == print_of(source.format("A()"))
        assert print_of(source.format("A()")) != print_of(source.format("B()"))

    def test_function_that_closes_over_itself_has_a_fingerprint(self, print_of: PrintOf) -> None:
        source = (
            "def make():\n    def f(x):\n        return f(x - {}) if x else 0\n    return f\nf = make()\n"
        )
        assert print_of(source.format(1)) == print_of(source.format(1))
        assert print_of(source.format(1)) != print_of(source.format(2))

    def test_variable_that_is_not_set_yet_is_no_obstacle(self) -> None:
        def early() -> object:
            return late

        assert fingerprint(early)
        late = 1

    def test_lambdas_of_one_line_are_told_apart(self) -> None:
        # fmt: off
        one, other, same = (lambda x: x > 1), (lambda x: x > 2), (lambda x: x > 1)
        pair: tuple[Callable[[], Unary], Unary] = (lambda: lambda x: x + 1), (lambda x: x + 1)
        # fmt: on
        assert fingerprint(one) != fingerprint(other)
        assert fingerprint(one) == fingerprint(same)
        outer, inner = pair
        assert fingerprint(outer()) == fingerprint(inner) != fingerprint(outer)

    def test_lambda_over_several_lines_is_found(self, print_of: PrintOf) -> None:
        source = "f = (\n    lambda x:\n        x +\n        {}\n)\n"
        assert print_of(source.format(1)) == print_of("f = lambda x: x + 1\n")
        assert print_of(source.format(1)) != print_of(source.format(2))

    def test_decorated_function_counts_with_its_decorator(self, print_of: PrintOf) -> None:
        source = """
            import functools
            def times(n):
                def wrap(g):
                    @functools.wraps(g)
                    def inner(x):
                        return g(x) * n
                    return inner
                return wrap

            @times({})
            def f(x):
                return x + {}
        """
        as_is = print_of(source.format(2, 1))
        assert as_is == print_of(source.format(2, 1))
        assert len({as_is, print_of(source.format(3, 1)), print_of(source.format(2, 2))}) == 3

    @pytest.mark.parametrize(
        "changed", ["x < 1", "x > 2", "x > y", "x in {1}", "x.real > 1", "x + 1", "not x"]
    )
    def test_code_without_source_is_told_apart(self, changed: str) -> None:
        assert made("x > 1") == made("x > 1")
        assert made("x > 1") != made(changed)

    def test_code_without_source_that_holds_functions_is_told_apart(self) -> None:
        assert made("[y for y in x if y > 1]") != made("[y for y in x if y > 2]")

    def test_source_that_changed_since_is_not_taken_for_the_code(self, tmp_path: Path) -> None:
        module = load(tmp_path, "def f(x):\n    return x + 1\n")
        assert module.__file__ is not None
        Path(module.__file__).write_text("def g(x, y):\n    return 'something else'\n", encoding="utf-8")
        assert fingerprint(module.f) == made("x + 1", "def f(x):\n    return {}\n")


def made(expression: str, source: str = "f = lambda x: {}") -> str:
    """Return the fingerprint of a function that no file holds."""
    namespace: dict[str, Any] = {}
    exec(source.format(expression), namespace)
    return fingerprint(namespace["f"])


class Policy:
    limit = 3

    def __init__(self, name: str, depth: int = 1) -> None:
        self.name = name
        self.depth = depth
        self.handle = object()

    def allows(self, message: int) -> bool:
        return message > self.depth

    @functools.cached_property
    def heavy(self) -> int:
        return self.depth * 2

    def __call__(self, message: int) -> bool:
        return self.allows(message)


@dataclass(frozen=True)
class Options:
    depth: int


class Model(BaseModel):
    depth: int


class Colour(Enum):
    RED = 1
    BLUE = 2


class TestOtherValues:
    @pytest.mark.parametrize(
        "make",
        [
            lambda n: functools.partial(pow, n, mod=5),
            lambda n: functools.partial(pow, 2, mod=n),
            lambda n: Policy("p", n).allows,
            lambda n: Policy("p", n),
            lambda n: operator.attrgetter(f"field_{n}"),
            lambda n: operator.methodcaller("get", default=n),
            lambda n: {n}.__contains__,
            lambda n: [len, max][n - 1],
            Options,
            lambda n: Model(depth=n),
            lambda n: list(Colour)[n - 1],
            lambda n: {"a": [1, (n, None)], "b": {"x", "y"}},
            lambda n: Path("a", str(n)),
            lambda n: [OSError, ValueError][n - 1],
            lambda n: [os, sys][n - 1],
            lambda n: RetryPolicy(max_attempts=n),
        ],
    )
    def test_are_told_apart_by_what_they_hold(self, make: Callable[[int], object]) -> None:
        assert fingerprint(make(1)) == fingerprint(make(1))
        assert fingerprint(make(1)) != fingerprint(make(2))

    def test_what_was_worked_out_meanwhile_does_not_matter(self) -> None:
        used, fresh = Policy("p", 2), Policy("p", 2)
        assert used.heavy == 4
        assert fingerprint(used) == fingerprint(fresh)

    def test_value_that_holds_itself_has_a_fingerprint(self) -> None:
        ring: list[object] = [1]
        ring.append(ring)
        assert fingerprint(ring) != fingerprint([1])

    def test_order_of_a_dict_does_not_matter(self) -> None:
        assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})


class TestExecutors:
    def test_configuration_matters_but_what_is_derived_from_it_does_not(self) -> None:
        assert fingerprint(Tuned("a", 1)) == fingerprint(Tuned("b", 1))
        assert fingerprint(Tuned("a", 1)) != fingerprint(Tuned("a", 2))
        used = Tuned("a", 1)
        assert used.accepts(3)
        assert fingerprint(used) == fingerprint(Tuned("a", 1))

    def test_where_it_is_run_does_not_matter(self) -> None:
        routed = Tuned("a", 1)
        routed.queue = "agentic.browser"
        assert fingerprint(routed) == fingerprint(Tuned("a", 1))

    def test_policy_matters(self) -> None:
        assert fingerprint(Node("a")) != fingerprint(Node("a", retry=RetryPolicy(max_attempts=2)))

    @pytest.mark.parametrize("changed", ["BASE", "OWN", "CLASSWIDE", "STATIC", "SHOWN", "KEPT"])
    def test_methods_of_the_class_and_its_bases_matter(self, tmp_path: Path, changed: str) -> None:
        source = """
            import functools
            from agentic.core.graph import Executor, handler

            class Base(Executor):
                def step(self) -> int:
                    return BASE

            class Own(Base):
                wide = CLASSWIDE

                @staticmethod
                def still() -> int:
                    return STATIC

                @property
                def shown(self) -> int:
                    return SHOWN

                @functools.cached_property
                def kept(self) -> int:
                    return KEPT

                @handler
                async def run(self, message: int) -> int:
                    return self.step() + OWN

            f = Own("own")
        """

        def with_value(value: int) -> str:
            text = source.replace(changed, str(value))
            for name in ("BASE", "OWN", "CLASSWIDE", "STATIC", "SHOWN", "KEPT"):
                text = text.replace(name, "0")
            return fingerprint(load(tmp_path, text).f)

        assert with_value(1) == with_value(1)
        assert with_value(1) != with_value(2)

    def test_function_of_a_function_executor_matters(self) -> None:
        def of(amount: int) -> Executor:
            @executor(id="f")
            def f(message: int) -> int:
                return message + amount

            return f

        assert fingerprint(of(1)) == fingerprint(of(1))
        assert fingerprint(of(1)) != fingerprint(of(2))


class Tuned(Executor):
    def __init__(self, id: str, limit: int) -> None:
        super().__init__(id)
        self.limit = limit

    @handler
    async def run(self, message: int) -> int:
        return min(message, self.limit)


Condition = Callable[[Any], bool]


def flow(
    condition: Condition = bool,
    *,
    version: str | None = None,
    id: str = "w",
    max_passes: int = 3,
    kind: ExecutorKind = ExecutorKind.WORKER,
    extra: str = "",
) -> Workflow:
    builder = (
        WorkflowBuilder(id, version=version)
        .set_start(Node("a"))
        .add_edge("a", Node("b", kind=kind), condition)
        .add_retry_edge("b", "a", when=bool, max_passes=max_passes)
        .add_state("seen", reducer=operator.add)
    )
    if extra:
        builder.add_edge("b", Node(extra))
    return builder.build()


def refusal(saved: Workflow, current: Workflow) -> str:
    found = compare(saved.signature, current.signature).refusal
    assert found is not None
    return found


class TestCompare:
    @pytest.mark.requirement("CK01")
    def test_changed_lambda_is_noticed_without_a_version(self) -> None:
        text = refusal(flow(lambda m: m > 1), flow(lambda m: m > 2))
        assert "changed code: condition of edge a->b" in text
        assert "resume it with the code that saved it" in text

    def test_changed_lambda_is_told_but_accepted_with_one_version(self) -> None:
        saved, current = flow(lambda m: m > 1, version="1"), flow(lambda m: m > 2, version="1")
        change = compare(saved.signature, current.signature)
        assert change.refusal is None
        assert change.changed_code == ("condition of edge a->b",)

    def test_same_workflow_built_again_is_accepted(self) -> None:
        for version in (None, "1"):
            change = compare(flow(version=version).signature, flow(version=version).signature)
            assert (change.refusal, change.changed_code) == (None, ())

    def test_other_version_is_refused_naming_both(self) -> None:
        saved, current = flow(version="1"), flow(version="2")
        text = refusal(saved, current)
        assert f"workflow 'w' of version '1' (signature {saved.signature.text})" in text
        assert f"workflow 'w' of version '2' (signature {current.signature.text})" in text
        assert "convert it with a migration" in text

    def test_version_on_one_side_only_is_refused(self) -> None:
        assert "of no version" in refusal(flow(), flow(version="1"))

    def test_other_workflow_is_refused(self) -> None:
        assert "workflow 'w' of version '1'" in refusal(flow(version="1"), flow(version="1", id="x"))

    @pytest.mark.parametrize("version", [None, "1"])
    def test_added_and_removed_parts_are_named(self, version: str | None) -> None:
        small, big = flow(version=version), flow(version=version, extra="c")
        assert "; added: edge b->c, executor c; " in refusal(small, big)
        assert "; removed: edge b->c, executor c; " in refusal(big, small)
        assert "order of" not in refusal(small, big)

    def test_changed_kind_is_refused(self) -> None:
        changed = flow(version="1", kind=ExecutorKind.VALIDATOR)
        assert "changed shape: executor b;" in refusal(flow(version="1"), changed)

    @pytest.mark.parametrize("version", [None, "1"])
    def test_another_limit_is_no_other_workflow(self, version: str | None) -> None:
        one, other = flow(version=version), flow(version=version, max_passes=4)
        assert compare(one.signature, other.signature, other.graph) == Change()
        assert compare(other.signature, one.signature, one.graph) == Change()

    @pytest.mark.parametrize("version", [None, "1"])
    def test_limits_were_part_of_the_shape_once(self, version: str | None) -> None:
        current = WorkflowBuilder("outer", version=version).set_start(flow(version=version)).build()
        made_then = {**current.signature.parts, "edge w/b->a": "534aa8aa90acbdfd"}
        before = replace(current.signature, parts=made_then)
        assert current.signature.parts != before.parts
        assert compare(before, current.signature, current.graph) == Change()

    def test_nothing_converts_a_checkpoint_of_another_workflow(self) -> None:
        text = refusal(flow(version="1"), flow(version="1", id="x"))
        assert "migration" not in text
        assert text.endswith("; resume it with the workflow that saved it, or start a new run")

    def test_changed_message_type_is_refused(self) -> None:
        def of(node: Executor) -> Workflow:
            return WorkflowBuilder("w", version="1").set_start(node).build()

        assert "changed shape: executor a;" in refusal(of(Node("a")), of(Joiner("a")))

    def test_a_message_type_with_a_new_name_and_its_old_wire_name_is_no_other_shape(self) -> None:
        @dataclass
        class Order:
            number: int

        @dataclass
        class Purchase:
            __wire_name__: ClassVar[str] = "shop.Order"
            number: int

        def of(kind: type) -> Workflow:
            async def take(message: object) -> None: ...

            take.__annotations__["message"] = list[kind]  # type: ignore[valid-type]
            node = executor(id="take")(take)
            return WorkflowBuilder("w", version="1").set_start(node).build()

        assert compare(of(Order).signature, of(Purchase).signature) == Change()

    def test_order_of_edges_matters_as_checkpoints_count_them(self) -> None:
        def of(*ends: str) -> Workflow:
            builder = (
                WorkflowBuilder("w", version="1").set_start(Node("a")).add_executor(Node("b"), Node("c"))
            )
            for end in ends:
                builder.add_edge("a", end)
            return builder.build()

        assert "changed shape: order of edges;" in refusal(of("b", "c"), of("c", "b"))

    def test_changed_case_is_noticed(self) -> None:
        def of(second: int, default: str = "c") -> Workflow:
            cases: list[Case | Default] = [
                Case(lambda m: m == 1, Node("b")),
                Case(lambda m: m == second, "b"),
                Default(default),
            ]
            builder = WorkflowBuilder("w").set_start(Node("a")).add_executor(Node("c"), Node("d"))
            return builder.add_edge("b", "c").add_edge("b", "d").add_switch_edge("a", cases).build()

        assert "changed code: case 2 of edge a->b+c;" in refusal(of(2), of(3))
        assert "removed: edge a->b+c; added: edge a->b+d;" in refusal(of(2), of(2, "d"))

    def test_changed_selector_is_noticed_and_so_is_having_one(self) -> None:
        def of(select: Selector | None) -> Workflow:
            builder = WorkflowBuilder("w").set_start(Node("a")).add_executor(Node("b"), Node("c"))
            return builder.add_fan_out_edge("a", ["b", "c"], select=select).build()

        one, other = of(lambda _, ends: ends[:1]), of(lambda _, ends: ends[1:])
        assert "changed code: selector of edge a->b+c;" in refusal(one, other)
        assert "changed shape: edge a->b+c;" in refusal(one, of(None))

    def test_changed_reducer_is_noticed(self) -> None:
        def of(reducer: Callable[[Any, Any], Any]) -> Workflow:
            return WorkflowBuilder("w").set_start(Node("a")).add_state("seen", reducer=reducer).build()

        assert "changed code: reducer of seen;" in refusal(of(operator.add), of(operator.or_))

    def test_sub_workflows_count_with_their_paths(self) -> None:
        def of(condition: Condition, version: str | None = None) -> Workflow:
            return WorkflowBuilder("outer").set_start(flow(condition, id="inner", version=version)).build()

        text = refusal(of(lambda m: m > 1), of(lambda m: m > 2))
        assert "changed code: condition of edge inner/a->b;" in text
        assert "changed shape: executor inner;" in refusal(of(bool), of(bool, "2"))

    def test_two_edges_between_one_pair_are_told_apart(self) -> None:
        def of(second: int) -> Workflow:
            builder = WorkflowBuilder("w").set_start(Node("a")).add_edge("a", Node("b"), lambda m: m > 1)
            return builder.add_edge("a", "b", lambda m: m < second).build()

        assert "changed code: condition of edge a->b (2);" in refusal(of(1), of(2))

    def test_what_is_gone_is_told_once(self) -> None:
        def of(end: str) -> Workflow:
            builder = WorkflowBuilder("w", version="1").set_start(Node("a"))
            return builder.add_edge("a", Node(end), lambda m: m > 1).build()

        text = refusal(of("b"), of("c"))
        assert "removed: edge a->b, executor b; added: edge a->c, executor c;" in text
        assert "changed code" not in text

    def test_long_lists_are_cut(self) -> None:
        builder = WorkflowBuilder("w").set_start(Node("a"))
        small = builder.build()
        for number in range(40):
            builder.add_edge("a", Node(f"n{number}"))
        assert "and 68 more; " in refusal(small, builder.build())


class TestSignature:
    def test_survives_json(self) -> None:
        signature = flow(version="1").signature
        assert WorkflowSignature.from_dict(signature.to_dict()) == signature

    @pytest.mark.parametrize(
        "damage", [{"parts": 3}, {"code": {"a": 1}}, {"more": "x"}, {"workflow_id": None}]
    )
    def test_damaged_one_is_refused(self, damage: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            WorkflowSignature.from_dict({**flow().signature.to_dict(), **damage})

    def test_shape_is_without_code_and_text_is_with_it(self) -> None:
        one, other = flow(lambda m: m > 1).signature, flow(lambda m: m > 2).signature
        assert one.shape == other.shape
        assert one.text != other.text

    def test_is_the_same_in_every_process(self, tmp_path: Path) -> None:
        script = tmp_path / "flow.py"
        script.write_text(
            textwrap.dedent(
                """
                import functools
                from agentic.core.graph import Executor, WorkflowBuilder, executor, handler

                class Node(Executor):
                    allowed = {"a", "b", "c"}

                    @handler
                    async def run(self, message: int) -> int:
                        return message

                @executor(id="plus")
                def plus(message: int, ) -> int:
                    return message + 1

                class Held: ...

                def check(held: Held, words: set[str], message: int) -> bool:
                    return str(message) in words

                test = functools.partial(check, Held(), {"x", "y", "z"})
                flow = WorkflowBuilder("w").set_start(Node("a")).add_edge("a", plus, test).build()
                if __name__ == "__main__":
                    print(flow.signature.text)
                """
            ),
            encoding="utf-8",
        )
        texts = [
            subprocess.run(
                [sys.executable, str(script)],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for seed in ("1", "2")
        ]
        imported = load(tmp_path, script.read_text(encoding="utf-8"))
        assert {*texts, imported.flow.signature.text} == {texts[0]}

    def test_no_address_gets_in(self) -> None:
        def of(held: object) -> str:
            return fingerprint(lambda _, it=held: it)

        assert of(SimpleNamespace(a=object())) == of(SimpleNamespace(a=object()))
        assert of(lambda: 1) == of(lambda: 1)


def test_a_class_that_grows_while_it_is_read_is_read_all_the_same() -> None:
    class Used(Executor):
        looked_at = Extending()

        @handler
        async def run(self, message: int) -> Order:
            return Order(message)

    @dataclass
    class Order:
        count: int

    node = Used("used")
    assert node.input_types == (int,)
    assert fingerprint(node) == fingerprint(node)
    assert Order in declared_types(WorkflowBuilder("w").set_start(node).build().graph)
