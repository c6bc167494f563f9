from __future__ import annotations

import pytest

from agentic.core.coding import SandboxValidator, find_language, language_tools
from agentic.core.sandbox import ProcessSandbox


@pytest.fixture
def validator() -> SandboxValidator:
    """Real compilers and test runners, in processes that bubblewrap isolates."""
    return SandboxValidator(ProcessSandbox(language_tools()))


@pytest.fixture(autouse=True)
def tools(request: pytest.FixtureRequest) -> None:
    """`make test` installs all tools but jest, vitest, and Rust's compiler, which comes with the system."""
    language = request.node.callspec.params.get("language") if hasattr(request.node, "callspec") else None
    if language == "rust" and not language_tools().has("rust"):
        pytest.skip("rustc is not installed")
    if language in {"typescript-jest", "typescript-vitest"} and not language_tools().has(language[11:]):
        pytest.skip(f"{language[11:]} is not installed: make javascript-runners")
    assert language is None or all(language_tools().has(name) for name, _ in find_language(language).finders)
