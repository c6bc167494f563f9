"""What tests of stores share."""

from __future__ import annotations

from tests.integration.mappers.ledgers import make_ledger, shared_url

__all__ = ["make_ledger", "shared_url"]
