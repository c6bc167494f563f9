"""Runs the Python blocks of the README and the docs as tests."""

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

pytest_collect_file = Sybil(parsers=[PythonCodeBlockParser()], patterns=["*.md"], excludes=["adr/*"]).pytest()
