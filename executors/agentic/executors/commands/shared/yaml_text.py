"""Data as YAML, for people."""

from __future__ import annotations

import json

from agentic.core.types import JSONValue


def yaml_text(data: JSONValue) -> str:
    """Return data as YAML."""
    import yaml

    plain = json.loads(json.dumps(data))
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100))
