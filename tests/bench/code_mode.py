"""Tokens of classical calls and of code mode, over catalogues of tools: ``python -m tests.bench.code_mode``.

The transcripts are written by hand, and run by real agents: every request to the model is counted whole, and
every reply. The task is the example of Anthropic's article on code execution with MCP (November 2025): take
the transcript of a meeting out of one service, and add it to a record of another one, to be found first.

With ``bpe-openai`` installed, tokens are those of ``o200k_base``; else they are estimated by their size.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice, product
from typing import Any

from agentic.core.agents import ChatAgent, Tool, ToolContext
from agentic.core.llm import ScriptedModel, ToolCall
from agentic.core.llm.tokens import TokenEstimator
from agentic.core.types import JSONValue
from agentic.plugins.mcp import CodeMode

SERVICES = (
    "files",
    "crm",
    "issues",
    "calendar",
    "mail",
    "chat",
    "wiki",
    "billing",
    "storage",
    "metrics",
    "ads",
    "hr",
)
VERBS = ("list", "get", "create", "update", "delete", "search", "export", "archive", "share")
TASK = "Add the transcript of the meeting 'Q3 review' to the account of Hill & Sons in the CRM."
WORD = "we agreed to send the revised offer on Monday and to call again in the week after that. "
WORD_TOKENS = 20

INSTRUCTIONS = "You help the staff of a company. Use the tools. Never invent ids. Answer in one sentence."


@dataclass(frozen=True)
class Case:
    """A catalogue, and the data that the task moves.

    Attributes:
        label: Of the row.
        tools: Tools in the catalogue.
        document_tokens: About so many tokens are in the transcript.
        rows: Records that the search returns.
    """

    label: str
    tools: int
    document_tokens: int = 100
    rows: int = 1


CASES = (
    Case("3 tools", 3),
    Case("10 tools", 10),
    Case("50 tools, document of 2,000 tokens", 50, 2_000),
    Case("100 tools", 100),
    Case("100 tools, document of 25,000 tokens, 1,000 rows", 100, 25_000, 1_000),
)


@dataclass(frozen=True)
class Counted:
    """The tokens of both ways."""

    case: Case
    classical: int
    code: int

    @property
    def saved(self) -> float:
        """The part that code mode saves."""
        return 1 - self.code / self.classical


class Service(Tool):
    """A tool of the catalogue, with a schema as long as those of real servers."""

    def __init__(self, name: str, verb: str, service: str, case: Case) -> None:
        super().__init__(name, _description(verb, service), _schema(verb, service))
        self._case = case

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:
        """Return the data of the task."""
        del context
        match self.name:
            case "files_get_record":
                text = WORD * max(self._case.document_tokens // WORD_TOKENS, 1)
                return {
                    "id": arguments["id"],
                    "name": "Q3 review",
                    "mime_type": "text/plain",
                    "content": text,
                }
            case "crm_search_records":
                found: list[JSONValue] = [
                    {"id": f"acc_{n:05}", "name": f"Account {n}", "stage": "open"}
                    for n in range(self._case.rows - 1)
                ]
                return {"records": [*found, {"id": "acc_77231", "name": "Hill & Sons", "stage": "open"}]}
            case _:
                return {"id": arguments.get("id", "x"), "is_updated": True}


def catalogue(case: Case) -> list[Tool]:
    """Return the tools of a case: the three that the task needs first."""
    needed = [("files", "get"), ("crm", "search"), ("crm", "update")]
    others = ((service, verb) for verb, service in product(VERBS, SERVICES) if (service, verb) not in needed)
    chosen = [*needed, *islice(others, case.tools - len(needed))]
    return [Service(_name(verb, service), verb, service, case) for service, verb in chosen]


async def count(case: Case, tokens: TokenEstimator) -> Counted:
    """Return the tokens of a case, both ways."""
    return Counted(
        case,
        await _spent(catalogue(case), _classical(case), tokens),
        await _spent([CodeMode(*catalogue(case), mode="always")], _in_code(case), tokens),
    )


def best_tokenizer() -> TokenEstimator:
    """Return the exact count if its library is installed, else the estimate."""
    try:
        encoding = import_module("bpe_openai").get_encoding("o200k_base")
    except ImportError:
        return TokenEstimator()

    class Exact:
        def count(self, text: str) -> int:
            return len(encoding.encode(text))

    return TokenEstimator(Exact())


async def _spent(tools: Sequence[Any], script: Sequence[Any], tokens: TokenEstimator) -> int:
    model = ScriptedModel(script)
    agent = ChatAgent(model, INSTRUCTIONS, tools=tools)
    thread = agent.new_thread()
    response = await agent.run(TASK, thread)
    assert response.text == DONE
    results = [one for message in thread.messages for one in message.tool_results]
    assert not [one for one in results if one.is_error]
    if "search_tools" in {one.name for one in results}:  # a model knows only the functions that it found
        assert all(name in str(results[0].content) for name in NEEDED)
    asked = sum(tokens.request_tokens(request) for request in model.requests)
    return asked + sum(
        tokens.message_tokens(message) for message in response.messages if not message.tool_results
    )


NEEDED = ("files_get_record", "crm_search_records", "crm_update_record")
DONE = "The transcript is in the account of Hill & Sons."


def _classical(case: Case) -> list[Any]:
    """Return the replies of a model that calls tools one by one: it has to write the document out again."""
    text = WORD * max(case.document_tokens // WORD_TOKENS, 1)
    return [
        [_call("1", "files_get_record", {"id": "Q3 review"})],
        [_call("2", "crm_search_records", {"query": "Hill & Sons"})],
        [_call("3", "crm_update_record", {"id": "acc_77231", "fields": {"notes": text}})],
        DONE,
    ]


def _in_code(case: Case) -> list[Any]:
    del case
    program = """\
meeting = await files_get_record(id="Q3 review")
found = await crm_search_records(query="Hill & Sons")
account = [one for one in found["records"] if one["name"] == "Hill & Sons"][0]
await crm_update_record(id=account["id"], fields={"notes": meeting["content"]})
account["id"]"""
    return [
        [_call("1", "search_tools", {"query": "get files record, search crm records, update crm record"})],
        [_call("2", "run_code", {"code": program})],
        DONE,
    ]


def _call(call_id: str, name: str, arguments: dict[str, JSONValue]) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def _name(verb: str, service: str) -> str:
    return f"{service}_{verb}_{'records' if verb in {'list', 'search', 'export'} else 'record'}"


def _description(verb: str, service: str) -> str:
    return (
        f"{verb.capitalize()} records of the {service} service. Use it if the user wants to {verb} something "
        f"that is kept in {service}. The caller needs the right {service}:{verb}. Results are limited to the "
        "workspace of the user, and are sorted by the time of their last change, newest first. Fails with "
        "NOT_FOUND if a record does not exist, and with RATE_LIMITED if too many requests came in a minute."
    )


def _schema(verb: str, service: str) -> dict[str, JSONValue]:
    """Return a schema of a usual size: a tool has about 500 tokens, as in the larger public servers."""
    properties: dict[str, Any] = {
        "id": {
            "type": "string",
            "description": f"Id of the {service} record, or its exact name if it is unique.",
        },
        "query": {"type": "string", "description": 'Words to look for. Supports AND, OR, NOT and "phrases".'},
        "workspace": {
            "type": "string",
            "description": "Id of the workspace. Defaults to the user's own workspace.",
        },
        "fields": {
            "type": "object",
            "description": "Field -> new value. Fields that are not named stay as they are.",
            "additionalProperties": True,
        },
        "filter": {
            "type": "object",
            "description": "Only records that match all conditions.",
            "properties": {
                "created_after": {
                    "type": "string",
                    "format": "date-time",
                    "description": "ISO 8601, inclusive.",
                },
                "created_before": {
                    "type": "string",
                    "format": "date-time",
                    "description": "ISO 8601, exclusive.",
                },
                "owner": {"type": "string", "description": "Id of the user who owns the record."},
                "labels": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Has all of these labels.",
                },
                "state": {
                    "type": "string",
                    "enum": ["open", "closed", "archived"],
                    "description": "Its state.",
                },
            },
        },
        "sort": {
            "type": "string",
            "enum": ["created", "updated", "name"],
            "description": "Order of the results.",
        },
        "page": {"type": "integer", "minimum": 1, "default": 1, "description": "Number of the page, from 1."},
        "per_page": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "default": 30,
            "description": "Page size.",
        },
        "dry_run": {
            "type": "boolean",
            "default": False,
            "description": "Check the request, and change nothing.",
        },
    }
    required: list[JSONValue] = ["query"] if verb in {"list", "search", "export"} else ["id"]
    return {"type": "object", "properties": properties, "required": required}


def rows(counted: Sequence[Counted]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| catalogue | classical | code mode | saved |"
    yield "|---|---:|---:|---:|"
    for one in counted:
        yield f"| {one.case.label} | {one.classical:,} | {one.code:,} | {one.saved:.1%} |"


async def main() -> None:
    """Print the table."""
    tokens = best_tokenizer()
    print("\n".join(rows([await count(case, tokens) for case in CASES])))  # noqa: T201  # its result


if __name__ == "__main__":
    asyncio.run(main())
