"""Walls as they look, and pages that look like walls."""

from __future__ import annotations

import time

import pytest

from agentic.core.http import Headers, HttpResponse
from agentic.core.http.challenges import SMALL_BYTES, challenge_in

CLOUDFLARE = """<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title>
<meta name="robots" content="noindex,nofollow"><style>*{box-sizing:border-box}</style></head>
<body><div class="main-wrapper" role="main"></div><script nonce="x">(function(){
window._cf_chl_opt = {cvId: '3', cZone: 'shop.example', cType: 'managed'};})();</script></body></html>"""
DATADOME = """<html lang="en"><head><title>shop.example</title></head><body style="margin:0">
<p id="cmsg">Please enable JS and disable any ad blocker</p><script data-cfasync="false">var dd={'rt':'c',
'cid':'AHr','hsh':'499A','t':'bv','host':'geo.captcha-delivery.com'}</script>
<script src="https://ct.captcha-delivery.com/c.js"></script></body></html>"""
PERIMETERX = """<!DOCTYPE html><html><head><title>Access to this page has been denied</title></head>
<body><div id="px-captcha" role="main"></div><script>window._pxAppId = 'PX1';</script>
<script src="https://captcha.px-cdn.net/PX1/captcha.js"></script></body></html>"""
INCAPSULA = """<html><head><META NAME="robots" CONTENT="noindex,nofollow"></head><body>
<iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31&xinfo=1" frameborder=0>
Request unsuccessful. Incapsula incident ID: 1</iframe></body></html>"""
AWS = """<!DOCTYPE html><html><head><title></title><script type="text/javascript">
window.awsWafCookieDomainList = [];window.gokuProps = {"key":"A"};</script></head><body></body></html>"""
RECAPTCHA = """<html><head><title>Are you a robot?</title><script src="https://www.google.com/recaptcha/api.js">
</script></head><body><form method="post"><p>Please show that you are human to go on.</p>
<div class="g-recaptcha" data-sitekey="x"></div></form></body></html>"""

ARTICLE = "<p>" + "How sites tell people from programs, and what it costs them. " * 60 + "</p>"


def page(html: str, content_type: str = "text/html; charset=utf-8", **headers: str) -> HttpResponse:
    fields = [("Content-Type", content_type), *((n.replace("_", "-"), v) for n, v in headers.items())]
    return HttpResponse(url="http://h/", status=200, headers=Headers(fields), body=html.encode())


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (CLOUDFLARE, "challenge"),
        (CLOUDFLARE.replace("Just a moment...", "Un momento…"), "challenge"),
        (AWS, "challenge"),
        (INCAPSULA, "challenge"),
        (DATADOME, "captcha"),
        (PERIMETERX, "captcha"),
        (RECAPTCHA, "captcha"),
        (RECAPTCHA.replace("g-recaptcha", "h-captcha"), "captcha"),
    ],
    ids=["cloudflare", "cloudflare es", "aws", "imperva", "datadome", "perimeterx", "recaptcha", "hcaptcha"],
)
def test_a_page_that_stands_before_the_page_is_told(html: str, expected: str) -> None:
    assert challenge_in(page(html)) == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("cf_mitigated", "challenge", "challenge"),
        ("x_amzn_waf_action", "captcha", "captcha"),
        ("x_amzn_waf_action", "challenge", "challenge"),
        ("cf_mitigated", "other", ""),
    ],
)
def test_a_header_can_say_it(name: str, value: str, expected: str) -> None:
    assert challenge_in(page("", **{name: value})) == expected


@pytest.mark.parametrize(
    "html",
    [
        # An article about it, with the markup of a wall as people show it.
        f"<title>Just a moment...</title><pre>window._cf_chl_opt = {{}}</pre>{ARTICLE}",
        f"<title>DataDome</title><pre>&lt;script>var dd={{'h':'geo.captcha-delivery.com'}}</pre>{ARTICLE}",
        f'<title>PX</title><pre>&lt;div id="px-captcha"> _pxAppId</pre>{ARTICLE}',
        # Titles of walls over pages with something to read, and a captcha in a form at their end.
        f"<title>Are you a robot?</title>{ARTICLE}<form><div class='g-recaptcha'></div></form>",
        # A contact form.
        "<title>Contact us</title><form><textarea></textarea><div class='h-captcha'></div></form>",
        # What Cloudflare puts into every page, and what PerimeterX does.
        "<title>Shop</title><script>a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script>",
        "<title>Shop</title><script>window._pxAppId = 'PX1'</script><p>Tea</p>",
        # A title without a captcha.
        "<title>Just a moment</title><p>Your order is being looked up.</p>",
        "",
    ],
)
def test_a_page_that_only_looks_like_it_is_none(html: str) -> None:
    assert challenge_in(page(html)) == ""


def test_json_and_large_pages_are_none() -> None:
    assert challenge_in(page(CLOUDFLARE, content_type="application/json")) == ""
    assert challenge_in(page(CLOUDFLARE + "x" * SMALL_BYTES)) == ""


@pytest.mark.parametrize(
    "flood",
    ["<script ", "<title>", "<title " + " " * 99, "<div ", "<div class=", "<style", "</script", "<"],
)
def test_a_hostile_page_costs_no_more_than_another(flood: str) -> None:
    head = "<title>captcha</title>_cf_chl_opt _pxAppId captcha-delivery.com <div class='g-recaptcha'>"
    body = (head + flood * (SMALL_BYTES // len(flood)))[:SMALL_BYTES]
    started = time.process_time()
    challenge_in(page(body))
    assert time.process_time() - started < 0.5
