"""Sentences out of a seeded generator."""

from __future__ import annotations

from random import Random

VOCABULARY = (
    "queue graph worker actor signal retry ledger cursor harbor lantern copper violet orbit meadow kernel "
    "packet anchor ribbon timber silent rapid hollow amber summit canyon river static dynamic shard replica "
    "index socket buffer window thread mirror beacon compass garden winter summer"
)
WORDS = VOCABULARY.split()
# Names that need escaping or a real charset somewhere on their way.
ACCENTS = ("Café", "Łódź", "R&D", '"Quick"', "Don't", "<Tiny>", "Straße", "日本")


def seeded(what: str, seed: int) -> Random:
    """Return a generator that gives the same for the same seed, on every machine."""
    return Random(f"{what}:{seed}")  # noqa: S311 - for looks, not for secrets


def sentence(random: Random, length: int) -> str:
    """Return ``length`` words, the first capitalised."""
    return " ".join(random.choices(WORDS, k=length)).capitalize()


def heading(random: Random, length: int) -> str:
    """Return ``length`` words; one heading in four holds a word that must be escaped or encoded."""
    words = [word.capitalize() for word in random.choices(WORDS, k=length)]
    if random.random() < 0.25:
        words[0] = random.choice(ACCENTS)
    return " ".join(words)
