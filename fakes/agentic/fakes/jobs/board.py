"""What the job board offers, from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from agentic.fakes.pages import TODAY
from agentic.fakes.words import heading, seeded, sentence

JOBS = 90
PER_PAGE = 10
ROLES = ("Python Developer", "Data Engineer", "Site Reliability Engineer", "Product Manager", "QA Engineer")
LEVELS = ("Junior", "Senior", "Lead", "Staff")
PLACES = ("Berlin", "Łódź", "Lisbon", "São Paulo", "Remote")
SKILLS = ("Python", "SQL", "Kubernetes", "Celery", "NATS", "Playwright", "PostgreSQL", "Rust", "Writing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One offer; the salary is a year's, from and to, and None where the company keeps it to itself."""

    number: int
    title: str
    company: str
    location: str
    posted: date
    salary: tuple[int, int] | None
    currency: str
    description: str
    skills: tuple[str, ...]

    @property
    def pay(self) -> str:
        """The salary as pages show it."""
        return "" if self.salary is None else f"{self.salary[0]:,} - {self.salary[1]:,} {self.currency}"


class Board:
    """All offers, the newest first.

    Args:
        seed: The same seed gives the same offers.
        jobs: How many.
    """

    def __init__(self, seed: int = 1, jobs: int = JOBS) -> None:
        random = seeded("jobs", seed)
        made = (_job(random, number) for number in range(1, jobs + 1))
        self.jobs = {job.number: job for job in sorted(made, key=lambda job: job.posted, reverse=True)}
        self._texts = {job.number: _text(job) for job in self.jobs.values()}

    def search(self, query: str) -> list[Job]:
        """Return the offers that have every word of ``query``: all of them for none."""
        words = query.casefold().split()
        return [job for job in self.jobs.values() if all(word in self._texts[job.number] for word in words)]


def page_of(found: list[Job], number: int) -> tuple[list[Job], int | None]:
    """Return page ``number`` of what was found, counted from 1, and the number of the next one if any."""
    end = number * PER_PAGE
    return found[end - PER_PAGE : end], number + 1 if end < len(found) else None


def _job(random: Random, number: int) -> Job:
    low = random.randrange(40, 120) * 1_000
    return Job(
        number=number,
        title=f"{random.choice(LEVELS)} {random.choice(ROLES)}",
        company=f"{heading(random, 2)} {random.choice(('Ltd', 'GmbH', 'S.A.'))}",
        location=random.choice(PLACES),
        posted=TODAY.date() - timedelta(days=random.randrange(60)),
        salary=None if random.random() < 0.2 else (low, low + random.randrange(5, 40) * 1_000),
        currency=random.choice(("EUR", "EUR", "USD")),
        description=f"{sentence(random, 20)}. {sentence(random, 14)}. {sentence(random, 9)}.",
        skills=tuple(random.sample(SKILLS, k=random.randrange(2, 5))),
    )


def _text(job: Job) -> str:
    letters = "".join(word[0] for word in job.title.split()[-2:])  # "pm" finds product managers
    return " ".join((job.title, letters, job.company, job.location, *job.skills)).casefold()
