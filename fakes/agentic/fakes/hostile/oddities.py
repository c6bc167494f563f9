"""Pages that are wrong: in their charset, their markup, their kind, or because a wall stands before them."""

from __future__ import annotations

from functools import lru_cache

from agentic.fakes.pages import HTML, TODAY, Page, document

BARE = "text/html"
NESTED = 100_000
CLEARANCE = "aws-waf-token"
CHALLENGE = "/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"
LINE_BYTES = 10 << 20
WORDS = "Café, Straße: 5 € „quoted“"
JAPANESE = "日本語のページです"
# A PDF small enough to read: one empty page.
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)


@lru_cache(maxsize=8)
def charset_page(kind: str) -> Page | None:
    """Return a page whose charset has to be found out.

    ``mislabelled``: windows-1252 that says UTF-8. ``unlabelled``: windows-1252 that says nothing. ``bom``:
    UTF-16 known by its byte order mark alone. ``meta``: Shift_JIS that only a meta element tells.
    """
    match kind:
        case "mislabelled":
            return Page(_plain(WORDS).encode("cp1252"), HTML, modified=TODAY)
        case "unlabelled":
            return Page(_plain(WORDS).encode("cp1252"), BARE, modified=TODAY)
        case "bom":
            return Page(_plain(f"{WORDS} {JAPANESE}").encode("utf-16"), BARE, modified=TODAY)
        case "meta":
            return Page(
                _plain(JAPANESE, '<meta charset="shift_jis">').encode("shift_jis"), BARE, modified=TODAY
            )
        case _:
            return None


@lru_cache(maxsize=8)
def malformed_page(kind: str) -> Page | None:
    """Return a page that is hard on parsers: ``nested``, ``unclosed``, ``nulls``, ``line`` or ``binary``."""
    match kind:
        case "nested":
            body = f"{'<div>' * NESTED}<h1>Deep</h1>{'</div>' * NESTED}".encode()
        case "unclosed":
            body = b"<html><body><h1>Open<p>one<p>two<ul><li><a href=../>home<li>last<table><tr><td>cell<div"
        case "nulls":
            body = b"<html><body>\0<h1>Nu\0ll</h1>\0\0<a href='../'>ho\0me</a>\0</body></html>"
        case "line":
            body = b"<html><body><h1>Long</h1><p>" + b"word " * (LINE_BYTES // 5) + b"</p></body></html>"
        case "binary":
            body = bytes(range(256)) * 256
        case _:
            return None
    return Page(body, HTML, modified=TODAY)


def challenge_page(kind: str) -> Page | None:
    """Return a wall: ``cloudflare`` (403 and its headers) or ``captcha`` (a form, with status 200)."""
    match kind:
        case "cloudflare":
            body = (
                "<noscript>Enable JavaScript and cookies to continue</noscript>"
                f'<div id="challenge-error-text"></div><script src="{CHALLENGE}"></script>'
            )
            headers = (
                ("server", "cloudflare"),
                ("cf-mitigated", "challenge"),
                ("cf-ray", "8f0000000000abcd-WAW"),
            )
            return Page(document("Just a moment...", body).encode(), HTML, 403, headers)
        case "captcha":
            body = (
                '<h1>Are you a robot?</h1><form id="captcha-form" method="post"><div class="g-recaptcha" '
                'data-sitekey="fake"></div><button>Prove it</button></form>'
            )
            return Page(document("Verify you are human", body).encode(), HTML)
        case _:
            return None


def walled_page(*, is_cleared: bool) -> Page:
    """Return a page for those who have the cookie ``CLEARANCE``; for others a wall whose script sets it."""
    if is_cleared:
        return Page(document("Past the wall", "<h1>Past the wall</h1>").encode(), HTML)
    script = f'window.gokuProps = {{}}; document.cookie = "{CLEARANCE}=fake; path=/"; location.reload();'
    body = document("", f"<script>{script}</script>").encode()
    return Page(body, HTML, 202, (("x-amzn-waf-action", "challenge"),))


def _plain(text: str, head: str = "") -> str:
    return f"<!doctype html><html><head>{head}<title>{text}</title></head><body><p>{text}</p></body></html>"
