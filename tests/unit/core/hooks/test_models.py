"""Models by name, as plugins bring their providers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.core.hooks.conftest import Site

from agentic.core.errors import DuplicateNameError
from agentic.core.hooks import get_registry
from agentic.core.hooks.manager import HOOK_NAMES
from agentic.core.llm import MissingKeyError, MissingSdkError, ScriptedModel, UnknownProviderError, llm

pytestmark = pytest.mark.requirement("LM01")

PROVIDER = """
    from agentic.core.hooks import hookimpl
    from agentic.core.llm import MissingKeyError, MissingSdkError, ScriptedModel

    def told(model, *, api_key="none", reply="Hello."):
        return ScriptedModel([reply], name=f"{provider}:{{model}}")

    def without_sdk(model):
        raise MissingSdkError("{provider}-sdk", "{provider}")

    def without_key(model):
        raise MissingKeyError("{provider}-key", "PROVIDER_API_KEY")

    @hookimpl
    def agentic_models():
        return {{"{provider}": told, "{provider}-sdk": without_sdk, "{provider}-key": without_key}}
"""


@pytest.fixture
def installed(site: Site) -> Iterator[Site]:
    """Return a folder of distributions that this process finds, with the provider ``parrot``."""
    site.install("parrot", PROVIDER.format(provider="parrot"))
    get_registry.cache_clear()
    yield site
    get_registry.cache_clear()


def test_the_hook_is_one_of_those_that_plugins_are_asked_for() -> None:
    assert "agentic_models" in HOOK_NAMES


@pytest.mark.usefixtures("installed")
async def test_a_model_is_made_by_the_plugin_of_its_provider() -> None:
    model = llm("parrot:grey", reply="Polly.")
    assert isinstance(model, ScriptedModel)
    assert (model.name, model.provider) == ("parrot:grey", "parrot")
    assert await model.generate("", "Who?") == "Polly."


@pytest.mark.usefixtures("installed")
def test_a_model_may_have_a_colon_in_its_name() -> None:
    assert llm("parrot:grey:8b").name == "parrot:grey:8b"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("name", "provider"), [("owl:grey", "owl"), ("grey", "grey"), ("", "")])
def test_a_provider_that_no_plugin_brings_is_refused_with_those_that_there_are(
    name: str, provider: str
) -> None:
    with pytest.raises(UnknownProviderError, match=r"known: .*parrot.*provider:name") as caught:
        llm(name)
    assert caught.value.provider == provider


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["parrot", "parrot:"])
def test_a_provider_without_a_model_is_refused(name: str) -> None:
    with pytest.raises(
        UnknownProviderError, match=r"'parrot' is a provider without a model; write 'parrot:NAME'"
    ):
        llm(name)


@pytest.mark.usefixtures("installed")
def test_an_option_that_the_provider_does_not_know_is_refused_with_those_it_knows() -> None:
    with pytest.raises(TypeError, match=r"'parrot' have no option 'key' \(known: api_key, reply\)"):
        llm("parrot:grey", key="x")


@pytest.mark.usefixtures("installed")
def test_a_missing_library_and_a_missing_key_say_what_to_do() -> None:
    with pytest.raises(MissingSdkError, match=r"pip install 'agentic-pipelines\[parrot\]'"):
        llm("parrot-sdk:grey")
    with pytest.raises(MissingKeyError, match="set PROVIDER_API_KEY"):
        llm("parrot-key:grey")


def test_two_plugins_that_bring_one_provider_are_named(site: Site) -> None:
    site.install("parrot", PROVIDER.format(provider="parrot"))
    site.install("other", PROVIDER.format(provider="parrot"))
    with pytest.raises(DuplicateNameError, match=r"agentic-plugin-other.*agentic-plugin-parrot"):
        _ = site.registry().models["parrot"]
