"""Numbers in odd spellings, written as other numbers are: ``1.2E+3``, ``1½``, ``3億5000万``, ``19 , 99``."""

from __future__ import annotations

import re
import unicodedata

from agentic.core.reading.ambiguous import AmbiguousError

JOINT = "\x1f"
"""Stands where the text of two elements meets, digit to digit: ``19<sup>99</sup>``."""

GAP = "\x1e"
"""The same with a blank between them: they may be one number, or two."""

POINT = "٫"
"""Stands before a fraction, and never groups digits."""

_NUMBER = r"\d+(?:[.,]\d+)*"
_SMALL = {"十": 10, "십": 10, "百": 100, "백": 100, "千": 1_000, "천": 1_000}
_LARGE = {"万": 10**4, "萬": 10**4, "만": 10**4, "億": 10**8, "亿": 10**8, "억": 10**8, "兆": 10**12}
_UNITS = "[" + "".join((*_SMALL, *_LARGE)) + "]"
_EASTERN = re.compile(rf"(?<![\d.,]){_NUMBER}{_UNITS}+(?: ?{_NUMBER}{_UNITS}+)*(?:\d[\d,]*)?")
_EASTERN_PART = re.compile(rf"({_NUMBER})({_UNITS}*)")

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED = re.compile(rf"(\d)([{_SUPERSCRIPTS}]{{2}})(?![{_SUPERSCRIPTS}])")
_PLAIN_DIGITS = str.maketrans(_SUPERSCRIPTS, "0123456789")
_FRACTION = re.compile(r"(?<![\d.,])(?:(\d{1,6}) ?)?([¼½¾⅐-⅞])(?!\d)")
_MIDDLE_DOT = re.compile(r"(?<![·‧∙])(\d)[·‧∙](\d{1,2})(?![\d·‧∙])")
_LEADING_DASH = re.compile(r"\s*[–—](?=[\d.,€$£])")

_SCIENTIFIC = re.compile(r"(?<![\w.,])(\d+(?:\.\d+)?)[eE]([+-]?\d{1,2})(?!\w)")
_MAX_ZEROS = 30
_APART = re.compile(r"(?<![.,])(?<![.,]\d)(\d)(?: [.,] | [.,])(\d\d)(?! ?[.,] ?\d|\d)")
_ONE_SIDED = re.compile(r"(?<![\d.,])(\d{1,3})[.,] (\d\d)(?= ?[€$£])|(?<=[€$£])(\d{1,3})[.,] (\d\d)(?!\S)")
_BETWEEN = re.compile(r"\s*(\d{1,6})( ?)([€$£]|euros?|EUR)( ?)(\d\d)\s*", re.IGNORECASE)
_BEHIND = re.compile(r"\s*([€$£]) ?(\d{1,6}) (\d\d)p?\s*")


def with_usual_digits(text: str) -> str:
    """Return a text with its numbers in usual spellings; its digits are ASCII ones."""
    if not text.isascii():
        text = _LEADING_DASH.sub("-", text, count=1) if _LEADING_DASH.match(text) else text
        text = _EASTERN.sub(_eastern, text)
        text = _RAISED.sub(lambda found: f"{found[1]}{JOINT}{found[2].translate(_PLAIN_DIGITS)}", text)
        text = _FRACTION.sub(_fraction, text)
        text = _MIDDLE_DOT.sub(r"\1.\2", text)
    if "e" in text or "E" in text:
        text = _SCIENTIFIC.sub(_scientific, text)
    if " " not in text:
        return text
    if ". " in text or ", " in text or " ." in text or " ," in text:
        text = _APART.sub(r"\1.\2", text)
        text = _ONE_SIDED.sub(lambda found: f"{found[1] or found[3]}{GAP}{found[2] or found[4]}", text)
    return _with_cents(text)


def _eastern(found: re.Match[str]) -> str:
    """Return a number that counts in ten thousands, in digits; the same text if it is not a whole one."""
    total = section = 0.0
    for digits, units in _EASTERN_PART.findall(found[0]):
        value = float(digits.replace(",", "")) if digits.count(".") < 2 else float("nan")
        if not units and len(digits) == 1:
            raise AmbiguousError(f"{found[0]} may end with single units or with thousands; use `regex`")
        for unit in units:
            if unit in _SMALL:
                value *= _SMALL[unit]
            else:
                total, section, value = total + (section + value) * _LARGE[unit], 0.0, 0.0
        section += value
    total += section
    return str(int(total)) if total.is_integer() else found[0]


def _fraction(found: re.Match[str]) -> str:
    value = f"{unicodedata.numeric(found[2]):.10f}".rstrip("0")
    return f"{found[1] or 0}{POINT}{value.partition('.')[2]}"


def _scientific(found: re.Match[str]) -> str:
    """Return a number of a program in digits; the same text if it may be the name of a model: ``12E4``."""
    mantissa, exponent = found.groups()
    is_alone = not any(map(str.isalnum, found.string[: found.start()] + found.string[found.end() :]))
    if not (is_alone or "." in mantissa or exponent[0] in "+-") or abs(int(exponent)) > _MAX_ZEROS:
        return found[0]
    whole, _, fraction = f"{float(found[0]):.{_MAX_ZEROS}f}".partition(".")
    fraction = fraction[: max(len(mantissa) - int(exponent), 0)].rstrip("0")
    return f"{whole}{POINT}{fraction}" if fraction else whole


def _with_cents(text: str) -> str:
    """Return a text that is a price alone with its cents behind a point: ``5 € 50``."""
    if (found := _BETWEEN.fullmatch(text)) is not None:
        is_one = len(found[2]) <= len(found[4]) or found[3][0] not in "€$£"
        return f"{found[1]}{'.' if is_one else GAP}{found[5]} {found[3]}"
    if (found := _BEHIND.fullmatch(text)) is not None:
        return f"{found[1]}{found[2]}{GAP}{found[3]}"
    return text
