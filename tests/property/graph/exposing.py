"""Workflows that expose faults which random ones seldom or never reach."""

from __future__ import annotations

from dataclasses import replace

from tests.property.graph.shapes import Direct, FanOut, MapOver, Node, Rule, Script, Shape, Switch
from tests.property.graph.simulator import Simulation, check_struck
from tests.property.graph.world import World

ALWAYS = Rule()
NEVER = Rule(below=0)

_FROZEN = Node("n0", Script(is_frozen=True))
_PICKY = Node("n1", Script(is_picky=True))
_SPLITS = Node("split", Script(splits=True))
_CLASHES = Script(writes=("clash",), mends=True)

CONDITION_OF_A_PICKY_TARGET = Shape(
    (_FROZEN, _PICKY, Node("n2")), (Direct("n0", "n1", ALWAYS), Direct("n0", "n2", NEVER))
)
CASE_OF_A_PICKY_TARGET = Shape(
    (_FROZEN, _PICKY, Node("n2")), (Switch("n0", ((ALWAYS, "n1"),), default="n2"),)
)
CLASHING_ITEMS = Shape(
    (Node("n0"), _SPLITS, Node("body", _CLASHES), Node("n1")),
    (Direct("n0", "split"), MapOver("split", "body", "n1", lanes=3, window=5)),
)
CLASHING_ONCES = Shape(
    (
        Node("n0"),
        Node("n1", replace(_CLASHES, remembers=True)),
        Node("n2", replace(_CLASHES, remembers=True)),
    ),
    (FanOut("n0", ("n1", "n2")),),
)
STRAYS_ONE_AFTER_THE_OTHER = Shape(
    (
        Node("n0", Script(sends=5)),
        Node("n1", Script(strays=True, mends=True, counts=True)),
        Node("n2", Script(sends=0)),
    ),
    (Direct("n0", "n1"), Direct("n1", "n2")),
    is_strict=True,
)


def expose(shape: Shape, seed: int = 0) -> None:
    """Play out a workflow twice, at different paces.

    Raises:
        AssertionError: A promise was broken.
    """
    quiet = Simulation(shape, World(seed))
    story = quiet.live()
    assert story is not None
    assert story.is_whole
    check_struck(Simulation(shape, World(seed + 1)), story)
