"""Test suites for implementations of this project's ports; the tests of each inherit from them.

Needs pytest and pytest-asyncio: ``pip install agentic-pipelines[testing]``.
"""

import pytest

pytest.register_assert_rewrite(
    *(
        f"agentic.core.testing.{name}"
        for name in (
            "checkpoint_contract",
            "http_budget",
            "http_cache",
            "http_peer",
            "http_transport",
            "ledger",
            "llm",
            "memory_contract",
            "sandbox_contract",
            "thread_contract",
            "vector_contract",
        )
    )
)

from agentic.core.testing.checkpoint_contract import CheckpointStoreContract  # noqa: E402 - rewritten first
from agentic.core.testing.ledger_contract import LedgerContract  # noqa: E402 - rewritten first
from agentic.core.testing.llm import LLMAdapterContract  # noqa: E402 - rewritten first
from agentic.core.testing.memory_contract import MemoryStoreContract  # noqa: E402 - rewritten first
from agentic.core.testing.sandbox_contract import SandboxContract  # noqa: E402 - rewritten first
from agentic.core.testing.thread_contract import ThreadStoreContract  # noqa: E402 - rewritten first
from agentic.core.testing.vector_contract import VectorIndexContract  # noqa: E402 - rewritten first

__all__ = [
    "CheckpointStoreContract",
    "LLMAdapterContract",
    "LedgerContract",
    "MemoryStoreContract",
    "SandboxContract",
    "ThreadStoreContract",
    "VectorIndexContract",
]
