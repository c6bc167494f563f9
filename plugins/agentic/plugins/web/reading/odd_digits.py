"""Numbers in odd spellings, written as other numbers are: ``1.2E+3``, ``1½``, ``3億5000万``, ``19 , 99``."""

from __future__ import annotations

import math
import re
import unicodedata

from agentic.core.reading.ambiguous import AmbiguousError
from agentic.plugins.web.reading.currencies import find_marks

JOINT = "\x1f"
"""Stands where the text of two elements meets, digit to digit: ``19<sup>99</sup>``."""

GAP = "\x1e"
"""The same with a blank between them: they may be one number, or two."""

POINT = "٫"
"""Stands before a fraction, and never groups digits."""

_NUMBER = r"\d+(?:[.,]\d+)*"
_SMALL = {"十": 10, "십": 10, "百": 100, "백": 100, "千": 1_000, "천": 1_000}
_LARGE = {"万": 10**4, "萬": 10**4, "만": 10**4, "億": 10**8, "亿": 10**8, "억": 10**8}
_FEW, _MANY = "".join(_SMALL), "".join(_LARGE)
_EASTERN = re.compile(
    rf"(?<![\d.,]){_NUMBER}[{_FEW}{_MANY}]+(?:{_NUMBER}[{_FEW}{_MANY}]+| {_NUMBER}[십백천]*[천만억])*"
    r"(?:\d+(?:,\d{3})*)?"
)
_EASTERN_PART = re.compile(rf"( ?)({_NUMBER})([{_FEW}]?)([{_MANY}]?)")
_EASTERN_DIGITS = re.compile(r"\d+(?:\.\d+)?|\d{1,3}(?:,\d{3})+(?:\.\d+)?")

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED = re.compile(rf"(\d)([{_SUPERSCRIPTS}]{{2}})(?![{_SUPERSCRIPTS}])")
_PLAIN_DIGITS = str.maketrans(_SUPERSCRIPTS, "0123456789")
_FRACTION = re.compile(r"(?<![\d.,])(?:(\d{1,6}) ?)?([¼½¾⅐-⅞])(?!\d)")
_LEADING_DASH = re.compile(r"\s*–(?=\d)")

_SCIENTIFIC = re.compile(r"(?<![\w.,])(\d+(?:\.\d+)?)[eE]([+-]?\d{1,2})(?!\w)")
_MAX_ZEROS = 30
_GROUPED = r"\d{1,3}([ .,'])\d{3}(?:\3\d{3})*|\d+"
_MIDDLE_DOT = re.compile(rf"(\D*)({_GROUPED})[·‧∙](\d\d?)(\D*)")
_APART = re.compile(rf"(\D*)({_GROUPED}) ([.,] ?)(\d\d)(\D*)")
_LONGEST_MARK = 12
_BROKEN = r"(\d{1,3})(?: ?[.,] | [.,])(\d\d)"
_UNSURE = re.compile(rf"(?<![\d.,]){_BROKEN}(?= ?[€$£])|(?<=[€$£]){_BROKEN}(?!\S)")
_BETWEEN = re.compile(r"\s*(\d{1,6})( ?)([€$£]|euros?|EUR)( ?)(\d\d)\s*", re.IGNORECASE)
_BEHIND = re.compile(r"\s*([€$£]) ?(\d{1,6}) (\d\d)p?\s*")


def with_usual_digits(text: str) -> str:
    """Return a text with its numbers in usual spellings; its digits are ASCII ones."""
    if not text.isascii():
        text = _LEADING_DASH.sub("-", text, count=1) if _LEADING_DASH.match(text) else text
        text = _EASTERN.sub(_eastern, text)
        if _RAISED.search(text) is not None and any(find_marks(text)):
            text = _RAISED.sub(lambda found: f"{found[1]}{JOINT}{found[2].translate(_PLAIN_DIGITS)}", text)
        text = _FRACTION.sub(_fraction, text)
        text = _with_middle_dot(text)
    if "e" in text or "E" in text:
        text = _SCIENTIFIC.sub(_scientific, text)
    if " " not in text:
        return text
    if ". " in text or ", " in text or " ." in text or " ," in text:
        text = _joined(text)
        text = _UNSURE.sub(lambda found: f"{found[1] or found[3]}{GAP}{found[2] or found[4]}", text)
    return _with_cents(text)


def _eastern(found: re.Match[str]) -> str:
    """Return a number that counts in ten thousands, in digits; the same text if it is not a whole one."""
    parts = _EASTERN_PART.findall(found[0])
    if "".join(map("".join, parts)) != found[0] or any("." in digits for _, digits, *_ in parts[:-1]):
        return found[0]
    total = section = 0.0
    limit = section_limit = math.inf
    for blank, digits, small, large in parts:
        if _EASTERN_DIGITS.fullmatch(digits) is None or (blank and section and large):
            return found[0]
        if not small and not large and len(digits) == 1:
            raise AmbiguousError(f"{found[0]} may end with single units or with thousands; use `regex`")
        scale = _SMALL.get(small, 1)
        value = float(digits.replace(",", "")) * scale
        if value >= section_limit:
            return found[0]
        section, section_limit = section + value, scale
        if large:
            section *= _LARGE[large]
            if section >= limit:
                return found[0]
            total, section, limit = total + section, 0.0, _LARGE[large]
            section_limit = limit
    total += section
    return str(int(total)) if total.is_integer() else found[0]


def _with_middle_dot(text: str) -> str:
    """Return a text that is a price or a number alone with a usual point: ``£2·50``."""
    found = _MIDDLE_DOT.fullmatch(text)
    if found is None or not _is_alone(found[1], found[5]):
        return text
    return f"{found[1]}{_whole(found[2])}.{found[4]}{found[5]}"


def _fraction(found: re.Match[str]) -> str:
    value = f"{unicodedata.numeric(found[2]):.10f}".rstrip("0")
    return f"{found[1] or 0}{POINT}{value.partition('.')[2]}"


def _scientific(found: re.Match[str]) -> str:
    """Return a number of a program in digits; the same text if it may be a name: ``12E4``, ``1.79 E10``."""
    mantissa, exponent = found.groups()
    is_alone = found.string.strip(" +-") == found[0]
    if not (is_alone or exponent[0] in "+-") or abs(int(exponent)) > _MAX_ZEROS:
        return found[0]
    whole, _, fraction = f"{float(found[0]):.{_MAX_ZEROS}f}".partition(".")
    fraction = fraction[: max(len(mantissa) - int(exponent), 0)].rstrip("0")
    return f"{whole}{POINT}{fraction}" if fraction else whole


def _joined(text: str) -> str:
    """Return a text that is a price alone with its cents at their point: ``19 , 99 €``.

    Without a currency, ``36 , 38`` may be two numbers.
    """
    found = _APART.fullmatch(text)
    if found is None or found[3] == found[4][0]:
        return text
    if not _is_alone(found[1], found[6], is_price=found[4].endswith(" ")):
        return text
    return f"{found[1]}{_whole(found[2])}.{found[5]}{found[6]}"


def _whole(digits: str) -> str:
    return "".join(filter(str.isdigit, digits))


def _is_alone(ahead: str, behind: str, *, is_price: bool = False) -> bool:
    """Whether nothing but a sign and currencies stand around a number; at a price, at least one."""
    around = f"{ahead.strip()}|{behind.strip()}"
    if len(around) > _LONGEST_MARK:
        return False
    marks = [around[mark.start : mark.end] for mark in find_marks(around)]
    for mark in marks:
        around = around.replace(mark, "", 1)
    return set(around) <= set("| +-") and (bool(marks) or not is_price)


def _with_cents(text: str) -> str:
    """Return a text that is a price alone with its cents behind a point: ``5 € 50``."""
    if (found := _BETWEEN.fullmatch(text)) is not None:
        is_one = len(found[2]) <= len(found[4]) or found[3][0] not in "€$£"
        return f"{found[1]}{'.' if is_one else GAP}{found[5]} {found[3]}"
    if (found := _BEHIND.fullmatch(text)) is not None:
        return f"{found[1]}{found[2]}{GAP}{found[3]}"
    return text
