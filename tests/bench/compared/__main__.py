"""Shows the cells of other libraries in docs/explanation/patterns-compared.md.

``python -m tests.bench.compared [PEER]`` runs them; a library that is missing is installed apart.
"""

from __future__ import annotations

import subprocess
import sys

from tests.bench.environments import python_of

PEERS = ("maf", "langgraph", "openai_agents", "pydantic_ai")


def main() -> None:
    """Run each library in its environment."""
    for peer in sys.argv[1:] or PEERS:
        subprocess.run([python_of(peer), "-m", f"tests.bench.compared.{peer}"], check=True)


if __name__ == "__main__":
    main()
