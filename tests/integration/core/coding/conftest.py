from __future__ import annotations

import pytest

from agentic.core.coding import SandboxValidator, language_tools
from agentic.core.sandbox import ProcessSandbox


@pytest.fixture
def validator() -> SandboxValidator:
    """Real compilers and test runners, in processes that bubblewrap isolates."""
    return SandboxValidator(ProcessSandbox(language_tools()))
