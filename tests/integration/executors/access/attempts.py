"""What commands are tried with across projects: every one that is told a project, or a thing by name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

import typer.main

from agentic.core.cli.main import build_app

FOUND = (
    "agents show {agent}",
    "agents show {agent_id}",
    "agents disable {agent}",
    "agents disable {agent_id}",
    "agents enable {agent}",
    "agents edit {agent} --goals new",
    "agents edit {agent_id} --goals new",
    "agents enable {agent_id}",
    "agents export {agent}",
    "agents export {agent_id}",
    "agents remove {agent} --yes",
    "agents remove {agent_id} --yes",
    "audit --run {run}",
    "evals compare {evaluation} {evaluation}",
    "evals compare {execution} {execution:.8}",
    "evals delete {evaluation} --yes",
    "evals delete {execution} --yes",
    "evals show {evaluation}",
    "evals show {evaluation} --case {evaluation}",
    "evals show {execution}",
    "executions cancel --agent {agent}",
    "executions cancel {waiting}",
    "executions cancel {waiting:.8}",
    "executions changes {execution}",
    "executions changes {failed} --against {execution}",
    "executions export --agent {agent} --to rows",
    "executions export {execution}",
    "executions pages {execution}",
    "executions export {execution:.8}",
    "executions report {execution}",
    "executions list --agent {agent}",
    "executions list --after {execution}",
    "executions remove --agent {agent} --yes",
    "executions remove {execution} --yes",
    "executions retry --agent {agent}",
    "executions retry {failed}",
    "executions failures {execution}",
    "executions show {execution}",
    "executions show {execution:.8}",
    "executions watch {execution} --once",
    "events replay {run} --all",
    "crawls release {run}",
    "dead-letters drop {execution}",
    "dead-letters list --after {letter}",
    "dead-letters retry {letter}",
    "dead-letters retry --execution {execution}",
    "notifications add new --email a@b.c --agent {agent}",
    "notifications add new --email a@b.c --agent {agent_id}",
    "notifications deliveries {notification}",
    "notifications remove {notification}",
    "notifications test {notification}",
    "pipelines show {pipeline}",
    "pipelines show {pipeline}@1 --yaml",
    "pipelines repair {pipeline} --rows rows.json",
    "pipelines validate {pipeline}",
    "pipelines wrappers {pipeline}",
    "repairs accept {repair}",
    "repairs export {agent}",
    "repairs export {agent_id}",
    "repairs reject {repair}",
    "repairs rollback {agent}",
    "repairs rollback {agent_id} --to 0",
    "repairs show {repair}",
    "repairs versions {agent}",
    "repairs versions {agent_id}",
    'requests answer {run} {request} "five"',
    "requests list --run {run}",
    "requests list --after {run}",
    "run {agent}",
    "run {agent_id}",
    "run {agent} --resume",
    "run {pipeline}@",
    "run {pipeline}@1",
    "runs cancel {run}",
    "runs list --after {run}",
    "runs cancel {run:.4}",
    "runs pause {run}",
    "runs resume {run}",
    "runs retry {run}",
    "runs show {run}",
    "runs show {run:.4}",
    "runs watch {run} --once",
    "schedules add new --every 1h --agent {agent}",
    "schedules add new --every 1h --agent {agent_id}",
    "schedules edit {schedule} --every 2h",
    "schedules next {schedule}",
    "schedules pause {schedule}",
    "schedules remove {schedule}",
    "schedules resume {schedule}",
    "schedules show {schedule}",
    "secrets remove {secret}",
    "secrets remove {session}",
    "chat {agent} hello --thread {thread} --user twin",
    "threads delete {thread} --yes",
    "threads export {thread}",
    "threads show {thread}",
)
"""Commands that look for a thing that is there."""

TWINS = (
    "agents add twin --platform web --config @config.yaml --replace",
    "agents disable twin",
    "agents disable --all",
    "agents edit twin --goals new",
    "agents import agents.yaml --replace",
    "agents remove twin --yes",
    "evals delete twin --yes",
    "evals run twin-eval.yaml --name twins --quiet",
    "executions cancel --all",
    "executions list",
    "executions remove --all --yes",
    "dead-letters retry --all",
    "notifications add twin --email a@b.c --replace",
    "notifications remove twin",
    "pipelines add twin.yaml",
    "run twin",
    "run twin@",
    "run twin@1",
    "runs cancel twin",
    "runs pause twin",
    "runs prune --older-than 1s --unpublished",
    'requests answer twin twin:talk.0.0/ask.0.0.1 "five"',
    "schedules add twin --every 2h --agent twin --replace",
    "schedules edit twin --every 2h",
    "schedules pause twin",
    "schedules remove twin",
    "secrets remove twin",
    "secrets set twin --from-file agents.yaml",
    "threads delete --user twin --yes",
)
"""Commands that change what is called the same in both projects, or all of one."""

LISTS = (
    "agents list --json",
    "agents export",
    "audit --json",
    "crawls held --json",
    "audit --run twin --json",
    "evals list --json",
    "evals list --eval twin --json",
    "events replay twin --all --json",
    "executions list --json",
    "dead-letters list --json",
    "repairs list --json",
    "threads export --user twin",
    "threads list --json",
    "threads list --agent twin --user twin --json",
    "usage --json",
    "metrics --once --project {project}",
    "notifications deliveries --json",
    "notifications list --json",
    "pipelines list --json",
    "requests list --json",
    "requests list --run twin --json",
    "runs list --json",
    "runs show twin --json",
    "runs prune --older-than 1s --dry-run",
    "schedules list --json",
    "schedules show twin --json",
    "secrets list --json",
)
"""Commands that show what a project has."""

NO_PROJECTS_BUSINESS = {
    "beat": "serves all projects",
    "db check": "looks at tables, not at rows",
    "db upgrade": "changes tables, not rows",
    "demo": "works in a folder of its own",
    "doctor": "is for who runs the machine",
    "evals schema": "shows what is installed",
    "events tail": "reads the bus: see test_events_across_projects.py",
    "fakes serve": "has nothing stored",
    "graph json": "draws code and files",
    "graph mermaid": "draws code and files",
    "graph svg": "reads the bus: see test_events_across_projects.py",
    "mcp serve": "serves one project: see test_serving.py",
    "mcp tools": "asks a server, and stores nothing",
    "nats accounts": "is for who runs the server: makes the keys of all projects",
    "pipelines actors": "shows what is installed",
    "pipelines build": "reads a file or a page, and stores nothing",
    "pipelines intent": "asks a model, and stores nothing",
    "pipelines schema": "shows what is installed",
    "pipelines try": "fetches a page and stores nothing",
    "platforms doctor": "is for who runs the machine",
    "platforms list": "shows what is installed",
    "platforms schema": "shows what is installed",
    "platforms show": "shows what is installed, to who runs the machine",
    "plugin new": "writes files",
    "plugins": "shows what is installed",
    "projects add": "is about projects themselves",
    "projects edit": "is about projects themselves",
    "projects export": "is about projects themselves",
    "projects import": "is about projects themselves",
    "projects limit": "is about projects themselves",
    "projects list": "is about projects themselves",
    "projects remove": "is about projects themselves",
    "projects show": "is about projects themselves",
    "reconcile": "serves all projects",
    "secrets new-key": "stores nothing",
    "secrets rotate": "serves all projects: keys are of the machine",
    "serve": "serves one project: see tests/integration/plugins/serve",
    "up": "serves all projects",
    "worker": "serves all projects",
}
"""Commands that are not tried, and why."""

FREE = {
    "answer", "by", "config", "cron", "every", "failure_class", "file", "goals", "inputs", "older_than",
    "out", "platform", "project", "reason", "since", "status", "table", "timezone", "to", "unset", "who",
    "workflow", "host", "message", "model",
    "apprise", "digest", "discord", "email", "on", "row_filter", "signing_secret", "slack", "smtp", "teams",
    "webhook", "allow_private_host", "choose",
}  # fmt: skip
"""Parameters of tried commands that name no thing of a project."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A command of the command line that is tried, and which of its parameters name something."""

    command: str
    parameters: frozenset[str]


@cache
def commands() -> dict[str, Any]:  # Typer brings a Click of its own, which has no public name
    """Return every command by its name."""
    return dict(_within(typer.main.get_command(build_app()), ()))


def tried(template: str) -> Tried:
    """Return what a template tries."""
    words = template.split()
    name = next(" ".join(words[:size]) for size in (2, 1) if " ".join(words[:size]) in commands())
    context = commands()[name].make_context(name, words[len(name.split()) :], resilient_parsing=True)
    named = {key for key, value in context.params.items() if "{" in str(value) or "twin" in str(value)}
    return Tried(name, frozenset(named))


def naming(command: str) -> set[str]:
    """Return the parameters of a command that may name something: texts, unless they are known to be free."""
    hints = get_type_hints(inspect.unwrap(commands()[command].callback))
    return {name for name, kind in hints.items() if kind in _TEXTS} - FREE


_TEXTS = (str, str | None, list[str], list[str] | None)


def _within(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path), command
        return
    for name, one in inner.items():
        if not one.hidden:  # a hidden one is an old name
            yield from _within(one, (*path, name))
