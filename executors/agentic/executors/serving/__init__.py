"""HTTP servers of one project: the token, the checks of every request, and the applications of plugins.

Needs the extra ``serve``. Every server of this project is built of these parts, so that all follow the same
rules: ``agentic serve``, and the servers of plugins that listen on a port of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.executors.serving.guarding import Guarded, GuardRules
    from agentic.executors.serving.mounts import Mount, mounted
    from agentic.executors.serving.opening import opened_project
    from agentic.executors.serving.problems import problem, problem_of
    from agentic.executors.serving.project import ServedProject
    from agentic.executors.serving.server import Listening, serve_until_signal
    from agentic.executors.serving.tokens import load_token, make_token

__all__ = [
    "GuardRules",
    "Guarded",
    "Listening",
    "Mount",
    "ServedProject",
    "load_token",
    "make_token",
    "mounted",
    "opened_project",
    "problem",
    "problem_of",
    "serve_until_signal",
]

_HOMES = {
    "GuardRules": "guarding",
    "Guarded": "guarding",
    "Listening": "server",
    "Mount": "mounts",
    "ServedProject": "project",
    "load_token": "tokens",
    "make_token": "tokens",
    "mounted": "mounts",
    "opened_project": "opening",
    "problem": "problems",
    "problem_of": "problems",
    "serve_until_signal": "server",
}


def __getattr__(name: str) -> object:
    return loaded(__name__, _HOMES, name)
