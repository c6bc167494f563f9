"""``python -m agentic.core.cli`` is ``agentic``."""

from agentic.core.cli.main import main

main()
