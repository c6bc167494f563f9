"""Steps with a condition, choices between rows of steps, and pipelines as steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentic.core.actors import Actor, ActorError
from agentic.core.pipeline import SpecError, StepFailedError, parse_spec

Run = Callable[..., Any]
MakeActor = Callable[..., Any]


@pytest.fixture(autouse=True)
def _words(make_actor: MakeActor) -> None:
    make_actor("say", lambda word: [{"word": word}], gives="items")
    make_actor("split", lambda text: text.split(), gives="words")

    def fail(failure_class: str) -> None:
        raise ActorError("it did not work", failure_class=failure_class)

    make_actor("fail", fail, gives="nothing")


def words(result: Any) -> list[str]:
    return [item["word"] for item in result.items]


class TestConditionalSteps:
    @pytest.mark.requirement("SP10")
    @pytest.mark.parametrize(
        ("n", "said", "passed_over"), [(3, ["many"], ()), (1, ["few"], ("say_2",)), (0, ["few"], ("say_2",))]
    )
    async def test_a_step_runs_where_its_condition_is_true(
        self, run: Run, n: int, said: list[str], passed_over: tuple[str, ...]
    ) -> None:
        text = """
inputs: {n: {type: integer}}
steps:
  - {actor: say, config: {word: few}}
  - {actor: say, when: "${n > `2`}", config: {word: many}}
"""
        result = await run(text, n=n)
        assert (words(result), result.passed_over) == (said, passed_over)

    async def test_without_a_step_that_is_passed_over_older_results_stand(self, run: Run) -> None:
        text = """
inputs: {again: {type: boolean, default: false}}
steps:
  - {actor: split, config: {text: "a b"}}
  - {actor: split, when: again, config: {text: "c d"}}
  - {type: loop, source: words, item_as: word, collect: items, loop_steps: [{actor: say}]}
"""
        result = await run(text)
        assert [item[0]["word"] for item in (i["value"] for i in result.items)] == ["a", "b"]

    async def test_a_condition_looks_at_earlier_results(self, run: Run) -> None:
        text = """
steps:
  - {actor: split, config: {text: "a b"}}
  - {actor: say, when: "contains(words, 'b')", config: {word: yes it is}}
"""
        assert words(await run(text)) == ["yes it is"]

    def test_a_condition_on_what_nobody_gives_is_found(self, actors: dict[str, type[Actor]]) -> None:
        with pytest.raises(SpecError, match="no earlier step provides 'wrods'; did you mean 'words'"):
            parse_spec(
                """
steps:
  - {actor: split, config: {text: "a b"}}
  - {actor: say, when: "length(wrods) > `1`", config: {word: x}}
""",
                actors,
            )

    async def test_loops_have_conditions_too(self, run: Run) -> None:
        text = """
inputs: {ok: {type: boolean}}
steps:
  - {actor: split, config: {text: "a b"}}
  - {type: loop, when: inputs.ok, source: words, item_as: word, collect: "items[0]",
     loop_steps: [{actor: say}]}
"""
        assert words(await run(text, ok=True)) == ["a", "b"]
        assert (await run(text, ok=False)).passed_over == ("loop",)


class TestChoices:
    TEXT = """
inputs: {n: {type: integer}}
steps:
  - {id: pick, type: choose, when: "n > `2`", steps: [{actor: say, config: {word: many}}],
     otherwise: [{actor: say, config: {word: "not ${n}"}}, {actor: split, config: {text: "a b"}}]}
  - {actor: aggregate}
"""

    @pytest.mark.requirement("SP10")
    @pytest.mark.parametrize(("n", "said"), [(3, ["many"]), (2, ["not 2"])])
    async def test_one_of_two_rows_is_run(self, run: Run, n: int, said: list[str]) -> None:
        assert words(await run(self.TEXT, n=n)) == said

    async def test_without_another_row_nothing_is_run(self, run: Run) -> None:
        text = """
inputs: {ok: {type: boolean}}
steps:
  - {actor: say, config: {word: before}}
  - {type: choose, when: ok, steps: [{actor: say, config: {word: within}}]}
"""
        assert words(await run(text, ok=False)) == ["before"]
        assert words(await run(text, ok=True)) == ["within"]

    @pytest.mark.parametrize(("a", "b", "said"), [(1, 1, "both"), (1, 0, "a"), (0, 1, "b"), (0, 0, "none")])
    async def test_choices_stand_within_choices(self, run: Run, a: int, b: int, said: str) -> None:
        text = """
inputs: {a: {type: integer}, b: {type: integer}}
steps:
  - type: choose
    when: a == `1`
    steps:
      - {type: choose, when: b == `1`, steps: [{actor: say, config: {word: both}}],
         otherwise: [{actor: say, config: {word: a}}]}
    otherwise:
      - {type: choose, when: b == `1`, steps: [{actor: say, config: {word: b}}],
         otherwise: [{actor: say, config: {word: none}}]}
"""
        assert words(await run(text, a=a, b=b)) == [said]

    async def test_loops_stand_within_choices_and_choices_within_loops(self, run: Run) -> None:
        text = """
steps:
  - {actor: split, config: {text: "a b c"}}
  - type: choose
    when: words
    steps:
      - type: loop
        source: words
        item_as: letter
        collect: "items[0]"
        loop_steps:
          - {type: choose, when: "letter == 'b'", steps: [{actor: say, config: {word: second}}],
             otherwise: [{actor: say, config: {word: "${letter}"}}]}
"""
        assert words(await run(text)) == ["a", "second", "c"]

    async def test_a_step_that_needs_what_the_other_row_gives_is_left_out(self, run: Run) -> None:
        text = """
inputs: {n: {type: integer}}
steps:
  - {type: choose, when: "n > `2`", steps: [{actor: split, config: {text: "a"}}]}
  - {type: loop, source: words, item_as: word, collect: "items[0]", loop_steps: [{actor: say}]}
"""
        assert (await run(text, n=1)).skipped == ("loop",)


class TestPipelinesAsSteps:
    TEXT = """
inputs: {n: {type: integer, default: 1}}
steps:
  - type: pipeline
    id: inner
    inputs: {text: "a b", n: "${n}"}
    pipeline:
      name: letters
      inputs: {text: {}, n: {type: integer}}
      steps:
        - {actor: split, config: {text: "${text} c"}}
        - {type: loop, source: words, item_as: word, collect: "items[0]", max_items: 2,
           loop_steps: [{actor: say}]}
  - {actor: aggregate, config: {items: "${inner.items}"}}
"""

    async def test_a_pipeline_gives_its_items_and_counts(self, run: Run) -> None:
        result = await run(self.TEXT)
        assert words(result) == ["a", "b"]

    async def test_it_sees_nothing_but_its_inputs(self, actors: dict[str, type[Actor]]) -> None:
        with pytest.raises(SpecError, match=r"pipeline.steps\[0\].*no earlier step provides 'word'"):
            parse_spec(
                """
inputs: {word: {}}
steps: [{type: pipeline, pipeline: {steps: [{actor: say, config: {word: "${word}"}}]}}]
""",
                actors,
            )

    @pytest.mark.parametrize(
        ("inputs", "message"),
        [("{}", "pipeline 'letters' needs the input 'text'"), ("{text: a, m: 1}", "unknown input 'm'")],
    )
    def test_inputs_that_do_not_fit_are_found(
        self, actors: dict[str, type[Actor]], inputs: str, message: str
    ) -> None:
        text = f"""
steps:
  - type: pipeline
    inputs: {inputs}
    pipeline: {{name: letters, inputs: {{text: {{}}}}, steps: [{{actor: split, config: {{text: a}}}}]}}
"""
        with pytest.raises(SpecError, match=message):
            parse_spec(text, actors)

    FAILING = """
steps:
  - {actor: say, config: {word: before}}
  - type: pipeline
    error_handling: OUTER
    pipeline:
      steps:
        - {actor: say, config: {word: within}}
        - {actor: fail, config: {failure_class: empty}, error_handling: INNER}
        - {actor: say, config: {word: later}}
"""

    async def failing(self, run: Run, outer: str, inner: str) -> Any:
        return await run(self.FAILING.replace("OUTER", outer).replace("INNER", inner))

    async def test_a_step_that_is_skipped_within_does_not_end_it(self, run: Run) -> None:
        result = await self.failing(run, "{}", "{empty: {then: skip}}")
        assert words(result) == ["later"]
        assert [item.step for item in result.failed_items] == ["pipeline/fail"]

    async def test_a_failure_within_fails_the_run_unless_a_rule_says_else(self, run: Run) -> None:
        with pytest.raises(StepFailedError, match="step 'pipeline' failed"):
            await self.failing(run, "{}", "{}")
        # Without the results of the step that is skipped, there are no items.
        result = await self.failing(run, "{empty: {then: skip}}", "{empty: {then: fail}}")
        assert (result.items, result.skipped) == ((), ("pipeline",))

    def test_a_name_that_nobody_knows_is_found(self, actors: dict[str, type[Actor]]) -> None:
        with pytest.raises(SpecError, match="pipeline 'letters' is unknown here"):
            parse_spec("steps: [{type: pipeline, pipeline: letters}]", actors)
