"""All cases, in the order of the table. Standard library only: every program reads them."""

from __future__ import annotations

from collections.abc import Mapping

from tests.bench.web.cases import addresses, answers, feeds, robots, sitemaps, values
from tests.bench.web.model import Case

CASES: Mapping[str, Case] = {
    case.name: case
    for module in (robots, sitemaps, addresses, answers, values, feeds)
    for case in module.CASES
}
