"""The search for a login form with other fields, or at another address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from agentic.core.pipeline.expressions.references import expression_of, is_reference
from agentic.core.pipeline.repairs.login_forms import (
    FoundLogin,
    OldLogin,
    find_login,
    login_links,
    shown,
    still_works,
)
from agentic.core.pipeline.repairs.proposals import (
    ProposalEvidence,
    Repair,
    RepairAbstention,
    RepairProposal,
    SpecChange,
)
from agentic.core.pipeline.repairs.searches.site import SeenPage, SiteView, home_of
from agentic.core.pipeline.repairs.spec_parts import LoginPart
from agentic.core.pipeline.repairs.start_pages import start_fault
from agentic.core.settings import safe_url

MAX_LINKS = 3


async def find_login_repairs(site: SiteView, part: LoginPart) -> list[Repair]:
    """Return the repair of a login by a form; none if the form still has its fields."""
    login = _old(part)
    if login is None or part.config.get("via") == "browser":
        return []  # scripts make the form: it is not in the page
    seen = await site.see(login.url)
    fault = start_fault(seen.sight)
    has_moved = fault is not None and fault.has_moved
    if not has_moved and (seen.tree is None or still_works(seen.tree.document, login)):
        return []
    found = await _login_at(site, seen, login) if not has_moved else "the login page is gone"
    if has_moved:
        home = await site.see(home_of(login.url))
        links = login_links(home.tree.document, home.final_url) if home.tree is not None else []
        tried = [await site.see(url) for url in links[:MAX_LINKS]]
        results = [await _login_at(site, one, login) for one in tried if one.tree is not None]
        logins = {one.url: one for one in results if isinstance(one, FoundLogin)}
        if len(logins) == 1:
            found = next(iter(logins.values()))
        else:
            count = len(logins) or "none"
            found = (
                f"{safe_url(login.url)} is gone, and {count} of the links on the home page lead to a login"
            )
    if isinstance(found, str):
        return [RepairAbstention(kind="login", subject=part.subject, reason=found)]
    return [_proposal(part, login, found, has_moved=has_moved)]


def _proposal(part: LoginPart, login: OldLogin, found: FoundLogin, *, has_moved: bool) -> RepairProposal:
    changes = [
        SpecChange(place=(*part.place, "fields", old), old=old, new=new, is_rename=True)
        for old, new in found.renamed.items()
    ]
    if has_moved:
        changes.append(SpecChange(place=(*part.place, "login_url"), old=login.url, new=safe_url(found.url)))
    if found.drops_selector:
        changes.append(SpecChange(place=(*part.place, "form_selector"), old=login.form_selector, new=None))
    evidence = tuple(
        ProposalEvidence(url=safe_url(found.url), old=old, new=new) for old, new in found.renamed.items()
    )
    return RepairProposal(
        kind="login",
        subject=part.subject,
        changes=tuple(changes),
        score=1.0,
        note=f"{shown(found)}; try it with a run, as a form says nothing about success",
        evidence=evidence or (ProposalEvidence(url=safe_url(found.url), old=safe_url(login.url)),),
    )


async def _login_at(site: SiteView, seen: SeenPage, login: OldLogin) -> FoundLogin | str:
    again = await site.see_again(seen.url)
    pages = [(one.tree.document, one.final_url) for one in (seen, again) if one.tree is not None]
    if not pages:
        return f"{safe_url(seen.url)} is not HTML"
    return find_login(pages, login)


def _old(part: LoginPart) -> OldLogin | None:
    """Return the login without its values; None if its address is known in a run only."""
    url, fields = part.config.get("login_url"), part.config.get("fields")
    if (
        not isinstance(url, str)
        or not url.startswith(("http://", "https://"))
        or not isinstance(fields, dict)
    ):
        return None
    secrets: dict[str, str] = {}
    for name, value in cast(Mapping[str, object], fields).items():
        if is_reference(value):
            path = expression_of(str(value)).path or ()
            secrets[name] = path[1] if len(path) == 2 else ""
    selector = part.config.get("form_selector")
    return OldLogin(url, tuple(fields), str(selector) if selector is not None else None, secrets)
