"""Currencies as prices name them: by symbol, by ISO 4217 code, or by a word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple


def _codes(words: str) -> frozenset[str]:
    return frozenset(words.split())


CODES = _codes(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD
    CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF
    GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK
    LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD
    OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN
    SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER
    ZAR ZMW
    """
)
"""The codes of ISO 4217 in use."""

WORDS = frozenset({"ALL", "COP", "CUP", "GEL", "LAK", "MAD", "MOP", "PEN", "RON", "SOS", "TOP", "TRY"})
"""Codes that are words, too: ``TOP 10``. They count behind a number only."""

WITHOUT_DECIMALS = _codes(
    """
    BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF
    """
)
WITH_THREE_DECIMALS = _codes("BHD IQD JOD KWD LYD OMR TND")
WITH_COMMA = _codes(
    """
    ALL AMD ARS AZN BAM BGN BOB BRL BYN CLP COP CZK DKK DZD EUR GEL HUF IDR ISK KGS KZT MAD MDL MKD MZN
    NOK PLN PYG RON RSD RUB SEK TND TRY UAH UYU UZS VES VND XAF XOF
    """
)
"""Currencies of countries that write a comma before the fraction, at least in part."""

DOLLARS = _codes(
    """
    ARS AUD BBD BMD BND BSD BZD CAD CLP COP CUP DOP FJD GYD HKD JMD KYD LRD MXN NAD NZD SBD SGD SRD TTD
    TWD USD UYU XCD
    """
)
"""Currencies written as ``$``."""

_LOWER = frozenset({"aud", "cad", "chf", "eur", "gbp", "inr", "jpy", "pln", "usd"})
"""Codes that are also read in lower case; ``all``, ``try`` and ``sek`` are words and units there."""

# In front of a dollar sign. A sign with other letters in front is a currency that is not known.
_DOLLARS = {
    "A": "AUD", "AR": "ARS", "AU": "AUD", "B": None, "BB": "BBD", "BDS": "BBD", "BM": "BMD", "BN": "BND",
    "BS": "BSD", "BZ": "BZD", "C": "CAD", "CA": "CAD", "CDN": "CAD", "CI": "KYD", "CL": "CLP", "CO": "COP",
    "COL": "COP", "CU": "CUP", "EC": "XCD", "FJ": "FJD", "GY": "GYD", "HK": "HKD", "J": "JMD", "JA": "JMD",
    "KY": "KYD", "LD": "LRD", "MEX": "MXN", "MOP": "MOP", "MX": "MXN", "N": "NAD", "NT": "TWD", "NZ": "NZD",
    "R": "BRL", "RD": "DOP", "S": "SGD", "SG": "SGD", "SI": "SBD", "TT": "TTD", "TW": "TWD", "U": "USD",
    "US": "USD", "UY": "UYU", "WS": "WST", "ZW": None,
}  # fmt: skip

# Behind: the character before a fraction where the currency is not known.
_SYMBOLS: Mapping[str, tuple[str | None, str]] = {
    "$": ("USD", "."), "€": ("EUR", ","), "£": ("GBP", "."), "¥": (None, "."), "₹": ("INR", "."),
    "₩": ("KRW", "."), "₽": ("RUB", ","), "₺": ("TRY", ","), "₴": ("UAH", ","), "₪": ("ILS", "."),
    "₫": ("VND", ","), "đ": ("VND", ","), "฿": ("THB", "."), "₱": ("PHP", "."), "₦": ("NGN", "."),
    "₡": ("CRC", ","), "₲": ("PYG", ","), "₸": ("KZT", ","), "₾": ("GEL", ","), "₼": ("AZN", ","),
    "֏": ("AMD", ","), "৳": ("BDT", "."), "₭": ("LAK", ","), "៛": ("KHR", ","), "₮": ("MNT", "."),
    "₵": ("GHS", "."), "₨": (None, "."), "﷼": (None, "."), "円": ("JPY", "."), "원": ("KRW", "."),
    "元": (None, "."), "¢": (None, "."), "圓": (None, "."), "¤": (None, "."),
    "CN¥": ("CNY", "."), "JP¥": ("JPY", "."), "RMB": ("CNY", "."), "人民币": ("CNY", "."),
    "€UR": ("EUR", ","), "E£": ("EGP", "."), "L£": ("LBP", "."), "GH₵": ("GHS", "."), "S/.": ("PEN", "."),
    "S/": ("PEN", "."), "Bs.": (None, ","), "د.إ": ("AED", "."), "ر.س": ("SAR", "."), "د.ك": ("KWD", "."),
    "ج.م": ("EGP", "."), "ر.ق": ("QAR", "."), "ر.ع.": ("OMR", "."), "د.ب": ("BHD", "."), "VNĐ": ("VND", ","),
}  # fmt: skip

# Words, by their lower case, a point behind them or not.
_NAMED: Mapping[str, tuple[str | None, str]] = {
    "zł": ("PLN", ","), "zl": ("PLN", ","), "kč": ("CZK", ","), "kr": (None, ","), "ft": ("HUF", ","),
    "fr": ("CHF", "."), "sfr": ("CHF", "."), "rs": (None, "."), "rp": ("IDR", ","), "rm": ("MYR", "."),
    "kd": ("KWD", "."),
    "tl": ("TRY", ","), "lei": (None, ","), "лв": ("BGN", ","), "руб": (None, ","), "р": (None, ","),
    "грн": ("UAH", ","), "euro": ("EUR", ","), "euros": ("EUR", ","), "dollar": (None, "."),
    "dollars": (None, "."), "pound": (None, "."), "pounds": (None, "."), "yen": ("JPY", "."),
    "rupees": (None, "."), "rub": ("RUB", ","), "kn": (None, ","), "din": (None, ","), "dhs": (None, "."),
    "dh": (None, "."), "fcfa": (None, ","), "cfa": (None, ","), "nis": ("ILS", "."), "grn": ("UAH", ","),
    "zloty": ("PLN", ","), "złotych": ("PLN", ","), "kronor": (None, ","), "kroner": (None, ","),
    "рублей": (None, ","), "yuan": ("CNY", "."), "won": (None, "."),
    "cent": (None, "."), "cents": (None, "."), "pence": ("GBP", "."), "baht": ("THB", "."),
}  # fmt: skip

_MARK = re.compile(
    r"(?:US|CA|AU|NZ|HK|SG|MX|NT)\s\$|[A-Za-z]{1,4}\$|\$\s?(?:US|CA|AU|NZ|HK|SG|MX|NT)\b|\$U\b|"
    + "|".join(
        symbol.replace("$", r"\$").replace(".", r"\.") for symbol in sorted(_SYMBOLS, key=len, reverse=True)
    )
    + r"|[A-Za-zÀ-ɏЀ-ӿ]+\.?"
)


class Mark(NamedTuple):
    """The name of a currency in a text.

    Attributes:
        currency: Its ISO 4217 code; None if several currencies are written so.
        decimal: The character that stands before a fraction where this is written.
        is_code: Whether it is an ISO code: those stand in texts of any language.
        start: Where it begins.
        end: Where it ends.
    """

    currency: str | None
    decimal: str
    is_code: bool
    start: int
    end: int

    @property
    def is_dollar_sign(self) -> bool:
        """Whether it is ``$`` alone, which a code may say more about: ``$20 CAD``."""
        return self.currency == "USD" and not self.is_code and self.end - self.start == 1


def find_marks(text: str) -> Iterator[Mark]:
    """Yield the names of currencies in a text without numbers."""
    for found in _MARK.finditer(text):
        word = found[0]
        if (known := _known(word)) is not None:
            currency, decimal, is_code = known
            yield Mark(currency, decimal, is_code, found.start(), found.end())


def _known(word: str) -> tuple[str | None, str, bool] | None:
    """Return currency, decimal character and whether it is a code; None if it is a word like any other."""
    if word in _SYMBOLS:
        return (*_SYMBOLS[word], False)
    if "$" in word:
        letters = word.replace("$", "").strip().upper()
        if word == "$U":
            letters = "UY"
        code = letters if letters in CODES else _DOLLARS.get(letters)
        return code, _decimal(code), False
    lower = word.rstrip(".").lower()
    if lower in _LOWER:
        return lower.upper(), _decimal(lower.upper()), True
    if word in CODES:
        return word, _decimal(word), True
    return (*_NAMED[lower], False) if lower in _NAMED else None


def _decimal(code: str | None) -> str:
    return "," if code in WITH_COMMA else "."
