"""Pages shown instead of a page: challenges and captchas, recognized by their unique markup.

Many come with status 200. A rule requires markup that runs or shows something (a script that sets a variable,
an element with an id). An article about captchas has such markup at most in escaped form.
"""

from __future__ import annotations

import re

from pydantic_core import SchemaValidator, core_schema

from agentic.core.http.messages import HttpResponse

CHALLENGE = "challenge"
CAPTCHA = "captcha"

SMALL_BYTES = 16 * 1024  # such a page is small
REFUSED_BYTES = 48 * 1024  # with a status from 400 on, a larger one is hardly a mistake
FEW_CHARACTERS = 1_500  # of visible text on a page that is only a captcha

TOKENS = "captcha|_cf_chl_opt|gokuProps|_Incapsula|cf-turnstile"
"""Without one of them no rule can match."""
# Rust's regular expressions search for all of them at once: in a tenth of the time of `in` for each.
_mentions = SchemaValidator(core_schema.str_schema(pattern=TOKENS)).isinstance_python

RULES: tuple[tuple[re.Pattern[bytes], str], ...] = (
    # Cloudflare; its ordinary pages have `/cdn-cgi/challenge-platform/` too, but never these options.
    (re.compile(rb"<script[^<>]*>[^<]*\b_cf_chl_opt\s*="), CHALLENGE),
    # AWS, Imperva, DataDome; PerimeterX, now HUMAN
    (re.compile(rb"<script[^<>]*>[^<]*\bgokuProps\s*="), CHALLENGE),
    (re.compile(rb"<iframe[^<>]+src=\"/_Incapsula_Resource\?"), CHALLENGE),
    (re.compile(rb"<script[^<>]*>\s*var dd\s*=\s*\{[^<]*captcha-delivery\.com"), CAPTCHA),
    (re.compile(rb"<div[^<>]+id=[\"']px-captcha[\"']"), CAPTCHA),
)
HEADERS = {
    "cf-mitigated": {"challenge": CHALLENGE},
    "x-amzn-waf-action": {"challenge": CHALLENGE, "captcha": CAPTCHA},
}
WIDGET = re.compile(rb"<div[^<>]+class=[\"'][^\"'<>]*(?:g-recaptcha|h-captcha|cf-turnstile)[\"' ]")
TITLE = re.compile(rb"<title[^<>]*>([^<]{1,200})</title>", re.IGNORECASE)
WALL_TITLE = re.compile(
    rb"(?:please )?(?:verify|confirm|prove) (?:that )?you(?:'re| are) (?:a )?(?:human|not a (?:robot|bot))"
    rb"|are you (?:a )?(?:human|robot|bot)|(?:human or robot|robot or human)|i'?m not a robot"
    rb"|(?:human|bot|captcha) (?:verification|check)|security (?:check|verification)|captcha(?: required)?"
    rb"|just a moment|attention required!?(?: \| cloudflare)?|one more step",
    re.IGNORECASE,
)
# Hostile pages meet these rules: each is linear, `\Z` included.
UNSEEN = re.compile(rb"<(script|style|head|noscript)\b.*?(?:</\1|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)


def challenge_in(response: HttpResponse) -> str:
    """Return the obstacle before the page: ``"challenge"``, ``"captcha"``, or ``""`` for no obstacle."""
    for name, words in HEADERS.items():
        if name in response.headers and (word := words.get(response.headers[name].strip().lower())):
            return word
    limit = SMALL_BYTES if response.status < 400 else REFUSED_BYTES
    if len(response.body) > limit or response.content_type not in ("text/html", ""):
        return ""
    return _wall_in(response.body) if _mentions(response.body.decode("latin-1")) else ""


def _wall_in(body: bytes) -> str:
    found = next((word for rule, word in RULES if rule.search(body)), "")
    return found or (CAPTCHA if _is_captcha_page(body) else "")


def _is_captcha_page(body: bytes) -> bool:
    """Whether a page is only a captcha; other pages may have one in a form."""
    title = TITLE.search(body)
    if (
        title is None
        or not WIDGET.search(body)
        or not WALL_TITLE.fullmatch(title[1].strip().rstrip(b".!?\xe2\x80\xa6"))
    ):
        return False
    return len(b" ".join(UNSEEN.sub(b" ", body).split())) <= FEW_CHARACTERS
