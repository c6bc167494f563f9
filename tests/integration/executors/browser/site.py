"""A site whose pages need a browser, or try one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

LIST = """<ul></ul><script>
setTimeout(() => {
  for (let i = 1; i <= 50; i++) document.querySelector("ul").innerHTML += `<li>item ${i}</li>`;
}, 20)
</script>"""

LOGIN = """<form method="post" action="/login"><input id="user" name="user"><input id="password"
 name="password" type="password"><button>Log in</button></form>"""

MORE = """<ul></ul><button>More</button><script>
let left = 3;
document.querySelector("button").onclick = event => {
  document.querySelector("ul").innerHTML += "<li>one more</li>";
  if (!--left) event.target.remove();
}
</script>"""

ENDLESS = """<ul></ul><script>
let left = 3;
const add = () => { document.querySelector("ul").innerHTML += "<li style='height: 2000px'>row</li>" };
add();
window.onscroll = () => { if (left-- > 0) setTimeout(add, 10) };
</script>"""

KEEPER = """<script>
localStorage.setItem("visits", Number(localStorage.getItem("visits")) + 1);
document.write(`<p>${localStorage.getItem("visits")}</p>`);
</script>"""

PICTURES = "<img src='/asked/picture.png'><script src='/asked/script.js'></script>"

WORKER = """<body><script>
navigator.serviceWorker.register("/asked/worker.js").catch(() => 0).then(
  () => { document.body.innerHTML = "<p id=done></p>" });
</script>"""

SENDING = """<p></p><script>
fetch("/whoami").then(r => r.json()).then(seen => {
  document.querySelector("p").textContent = seen.authorization;
  document.querySelector("p").id = "done";
})
</script>"""


class Site:
    """The server, and what it was asked for."""

    def __init__(self, port: int, asked: Counter[str]) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.other_url = f"http://localhost:{port}"
        self.asked = asked


@asynccontextmanager
async def serving() -> AsyncIterator[Site]:
    asked: Counter[str] = Counter()

    @web.middleware
    async def note(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        asked[f"{request.host.partition(':')[0]}{request.path}"] += 1
        return await handler(request)

    app = web.Application(middlewares=[note])
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield Site(runner.addresses[0][1], asked)
    finally:
        await runner.cleanup()


routes = web.RouteTableDef()


def html(text: str, status: int = 200, **headers: str) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html", headers=headers)


def page(path: str, text: str) -> None:
    @routes.get(path)
    async def show(_request: web.Request) -> web.Response:
        return html(text)


page("/list", LIST)
page("/login", LOGIN)
page("/more", MORE)
page("/endless", ENDLESS)
page("/keeper", KEEPER)
page("/pictures", PICTURES)
page("/worker", WORKER)
page("/sending", SENDING)
page("/alerts", "<script>while (true) alert('again')</script>")
page("/alert", "<script>alert('once'); document.write('<p>after</p>')</script>")
page("/busy", "<script>while (true);</script>")
page("/popup", "<p>page</p><script>window.open('/asked/popup')</script>")
page("/round", "<script>location = '/round?' + Math.random()</script>")
page("/big", "<p>" + "x" * 300_000)
page("/grows", "<p></p><script>document.querySelector('p').textContent = 'x'.repeat(300_000)</script>")
page("/forbidden", "<p>keep out</p>")


@routes.get("/robots.txt")
async def robots(_request: web.Request) -> web.Response:
    return web.Response(text="User-agent: *\nDisallow: /forbidden\n")


@routes.get("/status/{status}")
async def status(request: web.Request) -> web.Response:
    after = request.query.get("retry_after")
    headers = {"Retry-After": after} if after else {}
    return html("<p>no</p>", int(request.match_info["status"]), **headers)


@routes.get("/to")
async def to(request: web.Request) -> web.Response:
    return web.Response(status=302, headers={"Location": request.query["url"]})


@routes.get("/script-to")
async def script_to(request: web.Request) -> web.Response:
    return html(f"<script>location = {request.query['url']!r}</script>")


@routes.get("/loads")
async def loads(request: web.Request) -> web.Response:
    url = request.query["url"]
    return html(
        f"""<iframe src="{url}/asked/frame"></iframe><script>
        const socket = new Promise(done => {{
          const made = new WebSocket("{url.replace("http", "ws")}/asked/socket");
          made.onerror = done;
        }});
        Promise.all([fetch("{url}/asked/data", {{mode: "no-cors"}}).catch(() => 0), socket])
          .then(() => document.body.innerHTML += "<p id=done></p>");
        </script>"""
    )


@routes.get("/datagrams")
async def datagrams(request: web.Request) -> web.Response:
    return html(
        f"""<body><script>
        const place = "127.0.0.1:{request.query["port"]}";
        const peer = new RTCPeerConnection({{iceServers: [{{urls: "stun:" + place}}]}});
        peer.createDataChannel("x");
        const gathered = new Promise(done => {{
          peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && done();
        }});
        peer.createOffer().then(offer => peer.setLocalDescription(offer));
        const transport = new WebTransport("https://" + place).ready.catch(() => 0);
        Promise.all([gathered, transport]).then(() => document.body.innerHTML = "<p id=done></p>");
        </script>"""
    )


@routes.get("/asked/{what}")
async def asked_for(_request: web.Request) -> web.Response:
    return web.Response(text="", content_type="text/javascript")


@routes.get("/json")
async def json(_request: web.Request) -> web.Response:
    return web.json_response({"price": "5 €"})


@routes.get("/latin")
async def latin(_request: web.Request) -> web.Response:
    return web.Response(
        body="café".encode("latin-1"), headers={"Content-Type": "text/plain; charset=latin-1"}
    )


@routes.get("/file")
async def file(request: web.Request) -> web.Response:
    return web.Response(body=b"%PDF-1.4", headers=dict(request.query.items()))


@routes.get("/empty")
async def empty(_request: web.Request) -> web.Response:
    return web.Response(status=204)


@routes.get("/slow")
async def slow(_request: web.Request) -> web.Response:
    await asyncio.sleep(5)
    return html("late")


@routes.get("/bomb")
async def big_script(_request: web.Request) -> web.Response:
    return html("<script src='/script.js'></script>")


@routes.get("/script.js")
async def script(_request: web.Request) -> web.Response:
    return web.Response(text="1;" * 200_000, content_type="text/javascript")


@routes.get("/whoami")
async def whoami(request: web.Request) -> web.Response:
    return web.json_response(
        {
            "authorization": request.headers.get("authorization", ""),
            "cookie": request.headers.get("cookie", ""),
            "agent": request.headers.get("user-agent", ""),
        }
    )


@routes.post("/login")
async def log_in(request: web.Request) -> web.Response:
    form = await request.post()
    if (form["user"], form["password"]) != ("ada", "open sesame"):
        return html("wrong", 403)
    response = web.Response(status=303, headers={"Location": "/home"})
    response.set_cookie("login", "ada", max_age=3600, httponly=True, samesite="Strict")
    return response


@routes.get("/home")
async def home(request: web.Request) -> web.Response:
    return html(f"<h1>Hello {request.cookies.get('login', 'stranger')}</h1>")
