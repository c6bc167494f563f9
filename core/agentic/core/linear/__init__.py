"""Regular expressions in linear time: RE2 replaces :mod:`re` for every text from outside."""

from agentic.core.linear.errors import LinearRegexError, RegexTooCostlyError
from agentic.core.linear.pattern import LinearPattern, compile_linear

__all__ = ["LinearPattern", "LinearRegexError", "RegexTooCostlyError", "compile_linear"]
