"""The models of an agent that is data, with their secrets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from agentic.core.agents.specs.spec import (
    FILE_PROVIDERS,
    AgentSpec,
    AgentToolSpec,
    ModelChoice,
    SummaryReducer,
    chosen,
)
from agentic.core.agents.specs.toolsets import SECRET_HEAD, McpToolSpec, secret_named
from agentic.core.errors import AgenticError
from agentic.core.hooks import get_registry
from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.registry import llm
from agentic.core.llm.wrappers.fallback import FallbackModel
from agentic.core.llm.wrappers.retrying import MODEL_RETRIES, RetryingModel
from agentic.core.masking import is_telling
from agentic.core.pipeline.expressions.suggestions import unknown_word
from agentic.core.secret_names import folded_name

OpenModel = Callable[..., LLMAdapter]
"""Returns a model, as :func:`~agentic.core.llm.llm` does."""


def secret_names(spec: AgentSpec) -> list[str]:
    """Return the names of the secrets that an agent and the agents below it need, without duplicates."""
    options = (secret_named(value) for choice in all_models(spec) for value in choice.options.values())
    servers = (secret_named(value) for one in all_servers(spec) for _, value in one.settings())
    return list(dict.fromkeys(name for name in (*options, *servers) if name is not None))


def all_models(spec: AgentSpec) -> Iterator[ModelChoice]:
    """Yield the models of an agent, of its reducer, and of the agents below it."""
    yield from spec.models
    if isinstance(spec.reducer, SummaryReducer) and spec.reducer.model is not None:
        yield chosen(spec.reducer.model)
    for tool in spec.tools:
        if isinstance(tool, AgentToolSpec):
            yield from all_models(tool.agent)


def all_servers(spec: AgentSpec) -> Iterator[McpToolSpec]:
    """Yield the MCP servers of an agent, and of the agents below it."""
    for tool in spec.tools:
        if isinstance(tool, McpToolSpec):
            yield tool
        elif isinstance(tool, AgentToolSpec):
            yield from all_servers(tool.agent)


def make_model(
    models: Sequence[ModelChoice],
    max_attempts: int,
    secrets: Mapping[str, str],
    open_model: OpenModel = llm,
) -> LLMAdapter:
    """Return a model: each is retried, then the next one is asked.

    Args:
        models: In the order of preference.
        max_attempts: Tries of a request to each.
        secrets: Their values, by folded name.
        open_model: Opens each of them.

    Raises:
        ValueError: A secret is not given.
        UnknownProviderError, MissingSdkError, MissingKeyError, TypeError: See :func:`~agentic.core.llm.llm`.
    """
    policy = replace(MODEL_RETRIES, max_attempts=max_attempts)
    made = [RetryingModel(_model(one, secrets, open_model), policy) for one in models]
    return made[0] if len(made) == 1 else FallbackModel(*made)


def option_faults(choice: ModelChoice) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the faults of a model: place in it and message. Only files are opened, and no value is shown."""
    models = get_registry().models
    provider = choice.model.partition(":")[0]
    if provider not in models:
        yield ("model",), f"{unknown_word('provider', provider, models)}; its plugin may not be installed"
        return
    if provider in FILE_PROVIDERS:
        try:
            llm(choice.model)
        except (AgenticError, ValueError, OSError) as exc:
            yield ("model",), str(exc)
    known = list(inspect.signature(models[provider]).parameters)[1:]
    for name, value in choice.options.items():
        if isinstance(value, str) and SECRET_HEAD in value and secret_named(value) is None:
            yield ("options", name), "a secret must stand alone: ${secrets.NAME}"
        elif is_telling(name) and secret_named(value) is None:
            yield (
                ("options", name),
                "it is a secret; store it with `agentic secrets set NAME`, and write ${secrets.NAME} here",
            )
        elif name not in known:
            yield ("options", name), unknown_word("option", name, known)


def _model(choice: ModelChoice, secrets: Mapping[str, str], open_model: OpenModel) -> LLMAdapter:
    options: dict[str, object] = {}
    for key, value in choice.options.items():
        name = secret_named(value)
        if name is not None and folded_name(name) not in secrets:
            raise ValueError(
                f"the secret {name!r} is needed for {choice.model}; pass secrets={{{name!r}: ...}}"
            )
        options[key] = value if name is None else secrets[folded_name(name)]
    return open_model(choice.model, **options)
