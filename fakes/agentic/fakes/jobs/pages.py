"""The job board's markup."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

from agentic.core.types import JSONValue
from agentic.fakes.jobs.board import Job
from agentic.fakes.pages import document, json_script

NAME = "The Job Board"
SEARCH_FORM = (
    '<form role="search" action="{home}search" method="get">'
    '<input type="search" name="q" value="{query}"><button>Find</button></form>'
)


def home() -> str:
    """Return the home page, which anybody may see."""
    body = f'{_search_form("")}<p><a class="login" href="login">Log in</a></p>'
    return document(NAME, f"<h1>{NAME}</h1>{body}")


def login(token: str, following: str, error: str = "") -> str:
    """Return the login form.

    Args:
        token: What the form proves with that it came from here.
        following: Path to go to after the login.
        error: What was wrong with the last try.
    """
    message = f'<p class="error" role="alert">{escape(error)}</p>' if error else ""
    form = (
        '<form class="login" action="login" method="post">'
        f'<input type="hidden" name="csrf_token" value="{escape(token)}">'
        f'<input type="hidden" name="next" value="{escape(following)}">'
        '<label>User <input type="text" name="session_key" autocomplete="username"></label>'
        '<label>Password <input type="password" name="session_password"></label>'
        '<button type="submit">Log in</button></form>'
    )
    return document(f"Log in: {NAME}", f"{_search_form('')}{message}{form}")


def results(query: str, jobs: Sequence[Job], count: int, following: int | None) -> str:
    """Return a page of the search's results; ``count`` is how many there are on all pages."""
    cards = "".join(map(_card, jobs))
    target = escape(urlencode({"q": query, "page": following}))
    more = f'<a class="next" rel="next" href="?{target}">Next</a>' if following else ""
    found = f'<p class="count">{count}</p><ul class="jobs">{cards}</ul>{more}'
    return document(f"Jobs: {query}", f"{_search_form(query)}{found}{_logout('')}")


def details(job: Job) -> str:
    """Return the page of one offer."""
    skills = "".join(f"<li>{escape(skill)}</li>" for skill in job.skills)
    pay = f'<dt>Salary</dt><dd class="salary">{job.pay}</dd>' if job.salary else ""
    body = (
        f'<article class="job"><h1 class="title">{escape(job.title)}</h1>'
        f'<p><span class="company">{escape(job.company)}</span> '
        f'<span class="location">{escape(job.location)}</span> {_posted(job)}</p>'
        f'<dl>{pay}</dl><p class="description">{escape(job.description)}</p>'
        f'<ul class="skills">{skills}</ul></article>'
    )
    return document(job.title, f"{body}{_logout('../')}", head=json_script(_posting(job)))


def _search_form(query: str) -> str:
    return SEARCH_FORM.format(home="", query=escape(query))


def _logout(up: str) -> str:
    return f'<form action="{up}logout" method="post"><button>Log out</button></form>'


def _card(job: Job) -> str:
    return (
        f'<li class="job-card"><a class="job-link" href="job/{job.number}">{escape(job.title)}</a> '
        f'<span class="company">{escape(job.company)}</span> '
        f'<span class="location">{escape(job.location)}</span> {_posted(job)}</li>'
    )


def _posted(job: Job) -> str:
    return f'<time datetime="{job.posted.isoformat()}">{job.posted:%d %B %Y}</time>'


def _posting(job: Job) -> JSONValue:
    posting: dict[str, JSONValue] = {
        "@context": "https://schema.org",
        "@type": "JobPosting",
        "identifier": {"@type": "PropertyValue", "name": NAME, "value": str(job.number)},
        "title": job.title,
        "description": job.description,
        "datePosted": job.posted.isoformat(),
        "hiringOrganization": {"@type": "Organization", "name": job.company},
        "jobLocation": {
            "@type": "Place",
            "address": {"@type": "PostalAddress", "addressLocality": job.location},
        },
        "skills": list(job.skills),
    }
    if job.salary:
        low, high = job.salary
        value: JSONValue = {
            "@type": "QuantitativeValue",
            "minValue": low,
            "maxValue": high,
            "unitText": "YEAR",
        }
        posting["baseSalary"] = {"@type": "MonetaryAmount", "currency": job.currency, "value": value}
    return posting
