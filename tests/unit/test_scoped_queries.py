"""Every statement about what belongs to a project says which project, or somebody has said why not.

It is the source that is looked at: a function with a statement has to name the project, or one of the
helpers that do. What tests of behaviour cannot reach is reached here; whether the right project is named is
theirs to tell (``tests/integration/executors/access``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("mappers", "executors", "plugins", "migrations")

STATEMENTS = {"select", "update", "delete", "exists"}
LOOKUPS = {"get", "get_one"}
SCOPES = {
    "mappers.checkpoints.statements": ("_of_run", "_end_of_run"),
    "mappers.crawl.statements": ("_mine", "_page", "_claim"),
    "mappers.ledger.activation_statements": (
        "_HAS_BLOCKED",
        "_HAS_OPEN",
        "_IS_HELD_BY_LEASE",
        "_OF_ORIGIN",
        "_settled",
    ),
    "mappers.ledger.queue_statements": ("_IS_LATE", "_claimable", "_dispatchable"),
    "mappers.memories.store": ("_of_person",),
    "mappers.threads.store": ("_of_entries", "_of_thread"),
    "mappers.runs.reading": ("_events_of", "_of_runs"),
    "mappers.runs.retention": ("_of_project",),
    "mappers.runs.retention_statements": ("_of_runs",),
    "mappers.ledger.sql": ("of_activation", "of_executor", "of_project", "of_run", "of_superstep"),
    "mappers.catalog.executions": ("_is",),
    "mappers.catalog.repairs": ("_versions_of",),
    "plugins.langgraph.savers.sql": ("_of_thread", "_of_history"),
    "executors.exports.rows": ("_own",),
    "executors.reports.changes": ("_is_of_now", "_was_fetched"),
    "executors.reports.crawls": ("_failed",),
    "executors.reports.times": ("_activations",),
}
"""Conditions and queries that name the project, by where they are; each is looked at itself."""

COLUMNS = {"project_id", "_project_id"}
CONDITIONS = {name for names in SCOPES.values() for name in names}

EVERYBODYS = "it serves all projects"
OPERATOR = "it is for who runs the machine: all projects"
CLOCK = "it asks for the time"
UNSCOPED = {
    "executors.agents.doctor:findings_in": OPERATOR,
    "executors.checks.database:agent_findings": OPERATOR,
    "executors.checks.database:_now": CLOCK,
    "executors.commands.servers.demo:_all_ended": "the demo has a database of its own",
    "executors.commands.executions.dead_letter_retries:sort_dead_letters": "the execution is of the project",
    "executors.exports.sql_tables:_upsert": "the table is the user's own, in a database of the user's",
    "executors.durable.publish.projecting:_names": EVERYBODYS,
    "executors.durable.publish.publishing:_projects": EVERYBODYS,
    "executors.durable.reconcile.sweeping:_projects": EVERYBODYS,
    "executors.agents.pipeline:save_results": "the execution is one that AgentRepository has looked at",
    "executors.reports.changes:_of_kind": "what it reads from names the project",
    "executors.reports.changes:report": "what it reads from names the project",
    "executors.metrics.executions:_by_agent": "it is given the project's condition by count_executions()",
    "executors.metrics.executions:_proxies": "it is given the project's condition by count_executions()",
    "executors.metrics.sql:labels_of_agents": OPERATOR,
    "executors.agents.repository:_rows": "the agent is one of the project, the execution one of the agent",
    "mappers.audit:_add_about": "it reads no table",
    "mappers.catalog.projects:find_project": "it finds the project",
    "mappers.catalog.projects:list_projects": EVERYBODYS,
    "mappers.catalog.projects:remove_project": "it is about a project",
    "mappers.checkpoints.rows:_newest_of_each": "it is given the project's condition",
    "mappers.checkpoints.statements:PREPARE_JOINS": "it reads no table",
    "mappers.catalog.execution_choice:_newest": "each part that it is given names the project",
    "mappers.crawl.statements:TAKE_TURN": "it reads no table",
    "mappers.runs.totals:_finish": "it changes the row that it marked",
    "mappers.ledger.activation_statements:_CLOSED": "it is given to _settled()",
    "mappers.ledger.activation_statements:_becomes": "it is given to _settled()",
    "mappers.runs.reading:now": CLOCK,
    "mappers.ledger.run_statements:_limit": "it is about a project",
    "mappers.ledger.run_statements:CLOCK": CLOCK,
    "mappers.database.prefixes:as_pairs": "it reads no table",
    "mappers.database.prefixes:is_among": "it reads no table",
    "mappers.catalog.schedules:ACTIVE": EVERYBODYS,
    "mappers.catalog.schedules:active_schedules": EVERYBODYS,
    "mappers.catalog.schedules:store_now": CLOCK,
    "mappers.upserts.target:_are": "it is about a table's key, which begins with the project",
    "mappers.upserts.target:stored": "it is about a table's key, which begins with the project",
    "mappers.vault.environment:_project_names": "it finds which project the name of a variable means",
    "mappers.vault.rotation:unreadable": OPERATOR,
    "migrations.histories:applied_revisions": "it reads Alembic's tables",
    "migrations.runner:_take_turn": "it reads no table",
}
"""Where a statement names no project, and why that is right."""


def statements() -> Iterator[tuple[str, ast.stmt]]:
    """Yield where there is a statement, and the function or assignment that it is in."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if {"versions", "fakes", "testing"} & {*path.parts}:  # no rows of a project; no product
                continue
            text = path.read_text()
            if "sqlalchemy" in text or "agentic.mappers" in text:
                module = ".".join(path.with_suffix("").relative_to(ROOT / room / "agentic").parts)
                yield from _of_module(module, ast.parse(text))


def _of_module(module: str, tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    names = _sqlalchemy_names(tree)
    for node in _parts(tree):
        if any(_is_statement(call, names) for call in ast.walk(node) if isinstance(call, ast.Call)):
            yield f"{module}:{_name(node)}", node


def _sqlalchemy_names(tree: ast.Module) -> set[str]:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {
        alias.name
        for node in imports
        if node.module == "sqlalchemy"
        for alias in node.names
        if alias.name in STATEMENTS
    }


def _parts(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the functions and methods, and every other statement of modules and classes."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from node.body
        else:
            yield node


def _is_statement(call: ast.Call, names: set[str]) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in names
        case ast.Attribute(attr=attr) if attr in LOOKUPS and call.args:
            first = call.args[0]
            return isinstance(first, ast.Name) and (first.id.endswith("Model") or first.id == "model")
    return False


def _name(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name), *_]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return f"line {node.lineno}"


def is_scoped(node: ast.stmt) -> bool:
    """Whether a piece of source names the column, or a condition that does."""
    return bool(words_of(node) & {*COLUMNS, *CONDITIONS})


def words_of(node: ast.stmt) -> set[str]:
    """Return the names and attributes that a piece of source uses."""
    parts = list(ast.walk(node))
    names = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    return names | {part.attr for part in parts if isinstance(part, ast.Attribute)}


def definition_of(module: str, name: str) -> ast.stmt:
    """Return what a module calls so."""
    room, _, rest = module.partition(".")
    path = (ROOT / room / "agentic" / room / rest.replace(".", "/")).with_suffix(".py")
    parts = list(_parts(ast.parse(path.read_text())))
    return next(node for node in parts if _name(node) == name or name in _kept_by(node))


def _kept_by(node: ast.stmt) -> set[str]:
    """Return the attributes that a function sets."""
    parts = ast.walk(node)
    return {
        part.attr for part in parts if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
    }


def test_conditions_name_the_project() -> None:
    lost = [
        f"{module}:{name}"
        for module, names in SCOPES.items()
        for name in names
        if not words_of(definition_of(module, name)) & ({*COLUMNS, *CONDITIONS} - {name})
    ]
    assert lost == []


def test_every_statement_names_its_project() -> None:
    found = {where for where, source in statements() if not is_scoped(source)}
    assert sorted(found - UNSCOPED.keys()) == []


def test_no_exception_is_left_that_nothing_needs() -> None:
    found = {where for where, source in statements() if not is_scoped(source)}
    assert sorted(UNSCOPED.keys() - found) == []
