"""Which pipeline a user wants: by the options of a command, or by answers in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from agentic.core.cli import print_json, print_line
from agentic.core.types import JSONValue
from agentic.executors.building.asking import MAX_ANSWERS, ask_about, ask_for_fields, ask_for_offer
from agentic.executors.building.looks import Looks, open_looks
from agentic.executors.building.plans import BuildRequest, Plan, plan_by_examples, plan_of_offer
from agentic.executors.building.tables import Checked, check_plan, print_offers
from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:
    from agentic.core.wrappers import Offer, PageTree


async def choose_plan(
    asked: BuildRequest, pick: int | None, *, is_asking: bool, is_quiet: bool
) -> tuple[Plan, dict[str, Checked], list[PageTree]] | None:
    """Return a plan with the values that it gives; None if the user has yet to choose what to build."""
    async with open_looks(asked.hosts) as looks:
        plan = await _chosen(asked, looks, pick, is_asking=is_asking, is_quiet=is_quiet)
        if plan is None:
            return None
        checked = await check_plan(plan, looks)
        return plan, checked, [await looks.tree(url) for url in plan.urls]


async def _chosen(
    asked: BuildRequest, looks: Looks, pick: int | None, *, is_asking: bool, is_quiet: bool
) -> Plan | None:
    from pydantic import ValidationError

    try:
        if asked.examples:
            if pick is not None:
                raise OptionError("--pick chooses among the offers of a page; leave it out with examples")
            return await (_asked_about(asked, looks) if is_asking else plan_by_examples(asked, looks))
        return await _of_offers(asked, looks, pick, is_asking=is_asking, is_quiet=is_quiet)
    except ValidationError as exc:
        raise OptionError(
            f"--name {asked.name!r} is not a name for a pipeline: {exc.errors()[0]['msg']}"
        ) from None
    except OptionError as exc:
        wall = looks.wall([asked.url, *asked.pages, *(row.url for row in asked.examples)])
        if wall and wall not in str(exc):
            raise OptionError(f"{wall}; {exc}") from None
        raise


async def _of_offers(
    asked: BuildRequest, looks: Looks, pick: int | None, *, is_asking: bool, is_quiet: bool
) -> Plan | None:
    from agentic.core.wrappers import find_offers

    offers = find_offers([await looks.tree(asked.url), *[await looks.tree(url) for url in asked.pages]])
    if not any(offer.items for offer in offers) and (wall := looks.wall([asked.url, *asked.pages])):
        raise OptionError(f"{wall}; give the address of another page")
    if not offers:
        raise OptionError(
            f"{asked.url} has no list, table or record that was found without scripts; give values of it: "
            "--example title='A Light'"
        )
    if pick is None and not is_asking:
        if is_quiet:
            print_json([_offer(number, offer) for number, offer in enumerate(offers, 1)])
        else:
            print_offers(offers)
            print_line(
                "build one with --pick NUMBER or --interactive,\nor give values: --example title='A Light'"
            )
        return None
    if pick is not None and pick > len(offers):
        raise OptionError(f"--pick {pick}: the page offers 1 to {len(offers)}")
    if pick is None:
        print_offers(offers)
        pick = ask_for_offer(len(offers)) + 1
    offer = offers[pick - 1]
    fields = ask_for_fields(offer) if is_asking else {one.name: one for one in offer.fields}
    return await plan_of_offer(asked, looks, offer, fields)


async def _asked_about(asked: BuildRequest, looks: Looks) -> Plan:
    """Return the plan after the user has confirmed, corrected or left out each field."""
    plan = await plan_by_examples(asked, looks)
    for name in list(plan.intent.fields):
        for _ in range(MAX_ANSWERS):
            value = (await check_plan(plan, looks))[name].values[0]
            answer = ask_about(name, "" if value is None else str(value))
            if answer == "no":
                plan, asked = _without(plan, name), _with_value(asked, name, "")
            if answer in ("yes", "no"):
                break
            corrected = _with_value(asked, name, answer)
            try:
                plan, asked = await plan_by_examples(corrected, looks), corrected
            except OptionError as exc:
                typer.echo(str(exc), err=True)
    return plan


def _with_value(asked: BuildRequest, name: str, value: str) -> BuildRequest:
    """Return a request with another value of a field on the first page; without it for an empty one."""
    first, *others = asked.examples
    if not value:
        rows = [replace(row, values=_left(row.values, name)) for row in asked.examples]
        return replace(asked, examples=rows)
    return replace(asked, examples=[replace(first, values={**first.values, name: value}), *others])


def _left(values: Mapping[str, str | list[str]], name: str) -> dict[str, str | list[str]]:
    return {field: value for field, value in values.items() if field != name}


def _without(plan: Plan, name: str) -> Plan:
    fields = {field: rule for field, rule in plan.intent.fields.items() if field != name}
    if not fields:
        raise OptionError("no field is left, so there is nothing to build; answer yes for one at least")
    return replace(
        plan,
        intent=plan.intent.model_copy(update={"fields": fields}),
        locators={field: there for field, there in plan.locators.items() if field != name},
    )


def _offer(number: int, offer: Offer) -> dict[str, JSONValue]:
    fields: list[JSONValue] = [
        {"name": one.name, "type": one.type, "values": [text for row in one.texts[:3] for text in row[:1]]}
        for one in offer.fields
    ]
    return {
        "number": number,
        "kind": offer.kind.value,
        "title": offer.title,
        "records": offer.count,
        "items": offer.items,
        "fields": fields,
    }
