"""The documentation site: ``make docs`` builds it into ``docs/_build``, without network."""

from __future__ import annotations

import pkgutil
import re
from functools import cache

from docutils.nodes import Element, TextElement
from pygments.lexers.special import TextLexer
from sphinx.addnodes import pending_xref, toctree
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import agentic.core
import agentic.core.graph
import agentic.core.ledger
import agentic.executors.testing

PUBLIC = (agentic.core.graph, agentic.core.ledger, agentic.core, agentic.executors.testing)
DOCUMENTED = (
    *(module.__name__ for module in PUBLIC),
    "agentic.core.errors",
    "agentic.core.hooks",
    "agentic.core.types",
    "agentic.core.actors",
    "agentic.core.agents",
    "agentic.core.coding",
    "agentic.core.evals",
    "agentic.core.linear",
    "agentic.core.llm",
    "agentic.core.patterns",
    "agentic.core.pipeline",
    "agentic.core.sandbox",
    "agentic.core.services",
    "agentic.core.testing",
    "agentic.executors",
    "agentic.executors.serving",
    "agentic.migrations",
    "agentic.executors.errors",
    "agentic.mappers",
    "agentic.mappers.vault.errors",
)

project = "agentic-pipelines"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# The index takes in README.md, which is for those who read on GitHub.
exclude_patterns = ["_build", "README.md"]
nitpicky = True
# Names that signatures and docstrings give without their module.
nitpick_ignore = [
    ("py:class", "collections.abc.Callable[[]"),  # sphinx splits a function without arguments at its comma
    ("py:class", "Agent"),
    ("py:class", "AgentMapper"),
    ("py:class", "AgentModel"),
    ("py:class", "AsyncClient"),
    ("py:class", "AsyncQdrantClient"),
    ("py:class", "BaseModel"),
    ("py:class", "CaseModels"),
    ("py:class", "ChatAgent"),
    ("py:class", "Check"),
    ("py:class", "ContextOf"),
    ("py:class", "EffectJournal"),
    ("py:class", "FieldInfo"),
    ("py:class", "Judgement"),
    ("py:class", "LearntField"),
    ("py:class", "NoneType"),
    ("py:class", "OpenModel"),
    ("py:class", "Path"),
    ("py:class", "PydanticUndefined"),
    ("py:class", "PlatformExecutor"),
    ("py:class", "ProxyUse"),
    ("py:class", "SecretKeys"),
    ("py:class", "SecretStore"),
    ("py:class", "Session"),
    ("py:class", "Settings"),
    ("py:class", "Signature"),
    ("py:class", "ThreadStore"),
    ("py:class", "WorkflowDefinition"),
    ("py:class", "_PydanticGeneralMetadata"),
    ("py:class", "agentic.core.agents.specs.toolsets.Annotated"),
    ("py:class", "parts"),
    ("py:class", "server"),
    ("py:class", "types.Annotated"),
    ("py:exc", "CancelledError"),
    ("py:exc", "DBAPIError"),
    ("py:exc", "MissingExtraError"),
    ("py:exc", "PrivateAddressError"),
    ("py:exc", "SpecError"),
    ("py:exc", "ToolDefinitionError"),
    ("py:exc", "UnknownSecretError"),
    ("py:class", "AgenticSaver"),
    ("py:class", "ActorOffers"),
    ("py:class", "Approval"),
    ("py:class", "ASGIApp"),
    ("py:class", "AsgiApp"),
    ("py:class", "EventStreams"),
    ("py:class", "MaxLen"),
    ("py:class", "MeterProvider"),
    ("py:class", "PageSight"),
    ("py:class", "RunService"),
    ("py:class", "SecretStr"),
    ("py:class", "ServedAgents"),
    ("py:class", "StepAttempt"),
    ("py:class", "TracerProvider"),
    ("py:class", "choose"),
    ("py:class", "crawl"),
    ("py:class", "datetime"),
    ("py:class", "loop"),
    ("py:class", "pipeline"),
    ("py:class", "spec"),
    ("py:exc", "AgentDisabledError"),
    ("py:exc", "MCPError"),
    ("py:exc", "McpProtocolError"),
    ("py:exc", "PushTargetError"),
    ("py:exc", "RefusedMessageError"),
    ("py:exc", "SaverUnavailableError"),
    ("py:exc", "ServeError"),
    ("py:exc", "ServeTokenError"),
    ("py:exc", "TaskStateError"),
    ("py:exc", "UnknownTaskError"),
    ("py:exc", "ValidationError"),
    ("py:data", "EMBEDDER"),
    ("py:data", "TASK_WORDS"),
    ("py:func", "pipeline_of"),
    ("py:meth", "BaseChatModel.bind_tools"),
    ("py:meth", "run"),
    ("py:mod", "re"),
]

# Types with facts, which a signature cuts at their commas.
nitpick_ignore_regex = [(r"py:.*", r".*Annotated.*"), (r"py:obj", r"typing\.Literal\[.*")]

# "name" and "parts" are tags of unions, which a signature shows like names.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = project
html_show_copyright = False
html_copy_source = False

myst_heading_anchors = 3

autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # the signature has them


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: TextElement) -> Element | None:
    """Lead to a public name wherever it is defined; leave other names that there are as text."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    name = target.rpartition(".")[2]
    python = env.domains.python_domain
    for module in DOCUMENTED:
        if f"{module}.{name}" in python.objects:
            full_name = f"{module}.{name}"
            return python.resolve_xref(env, node["refdoc"], app.builder, "obj", full_name, node, content)
    return content if exists(target) else None


@cache
def exists(name: str) -> bool:
    """Return whether a dotted name can be imported."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return False
    return "." in name


def keep_colons(
    _app: Sphinx, what: str, _name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """Keep napoleon from reading the first words of a property, up to a colon, as its type."""
    if what == "property":
        lines[:0] = ["..", ""]


def make_readable(
    _app: Sphinx, _what: str, _name: str, _obj: object, _options: object, signature: str | None, returns: str
) -> tuple[str, str] | None:
    """Write defaults of dataclasses so that they are Python."""
    if not signature:
        return None
    return re.sub(r"<class '([\w.]+)'>", r"\1", signature.replace("<factory>", "...")), returns


def check_public_names(_app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of public names without an entry: what is exported is documented."""
    entries = env.domains.python_domain.objects
    for module in PUBLIC:
        for name in module.__all__:
            if not any(f"{known}.{name}" in entries for known in DOCUMENTED):
                logging.getLogger(__name__).warning(
                    "%s.%s is public and has no entry in docs/reference/python", module.__name__, name
                )


def search_once(app: Sphinx, _builder: object) -> None:
    """Search for each name once: a search reads the names of all objects, and signatures repeat types."""
    python = app.env.domains.python_domain
    python.find_obj = cache(python.find_obj)


def show_titles(
    app: Sphinx, _page: str, _template: str, context: dict[str, object], _doctree: object
) -> None:
    """Make the sidebar of titles alone.

    For each page, Sphinx would copy all entries of all pages, and drop them: half of the time of a build.
    """
    make = context["toctree"]

    def make_of_titles(**options: object) -> str:
        whole, app.env.tocs = app.env.tocs, titles(app)
        try:
            return make(**options)
        finally:
            app.env.tocs = whole

    context["toctree"] = make_of_titles


@cache
def titles(app: Sphinx) -> dict[str, Element]:
    """Return the title of each page, and the pages below it."""
    found = {page: toc.deepcopy() for page, toc in app.env.tocs.items()}
    for toc in found.values():
        for entry in toc:
            if len(entry) > 1:
                entry[1:] = [type(entry[1])("", *below)] if (below := list(entry.findall(toctree))) else []
    return found


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", make_readable)
    app.connect("env-check-consistency", check_public_names)
    app.connect("write-started", search_once)
    app.connect("html-page-context", show_titles, priority=400)  # before the theme
    app.add_lexer("mermaid", TextLexer)  # GitHub draws it; here its source is shown
