"""A server of MCP on standard streams, without a library of any version: its tool adds two numbers."""

from __future__ import annotations

import json
import sys
from typing import Any

NUMBER = {"type": "integer"}
TOOL = {
    "name": "add",
    "description": "Add two numbers.",
    "inputSchema": {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]},
}


def answer(method: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request; None for a method that this server does not have."""
    if method == "initialize":
        facts = {"name": "adder", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": facts}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        total = given["arguments"]["a"] + given["arguments"]["b"]
        return {"content": [{"type": "text", "text": str(total)}]}
    return {} if method == "ping" else None


def main() -> None:
    """Answer the requests of standard input until it ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request["method"], request.get("params") or {})
        body = (
            {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        )
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
