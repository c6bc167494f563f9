"""How reports look: light, dark and on paper."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--page:#f5f6f8;--card:#fff;--ink:#0f172a;--muted:#566176;--line:#e4e8ee;
--soft:#f1f4f8;--accent:#3b5bdb;--accent-soft:#dfe6fb;--ok:#15803d;--ok-soft:#e3f4e8;--warn:#a75407;
--warn-soft:#fcf0dc;--bad:#c22727;--bad-soft:#fce8e8;--gray:#9aa5b5;--shadow:0 1px 2px #0f172a0d,0 4px 16px #0f172a0a}
@media (prefers-color-scheme:dark){:root{--page:#090e1a;--card:#0f172a;--ink:#e9eef7;--muted:#9aa8bf;--line:#23304a;
--soft:#17213a;--accent:#8ea8ff;--accent-soft:#1d2a55;--ok:#4ade80;--ok-soft:#10301d;--warn:#fbbf5a;
--warn-soft:#33240c;--bad:#ff8585;--bad-soft:#3b171b;--gray:#5d6b84;--shadow:none}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.55 ui-sans-serif,system-ui,-apple-system,
"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
main,header,footer{max-width:1120px;margin:0 auto;padding:0 24px}
header{padding-top:44px}
.eyebrow{margin:0 0 6px;color:var(--muted);font-size:12.5px;letter-spacing:.02em}
h1{display:flex;flex-wrap:wrap;align-items:center;gap:8px 14px;margin:0;font-size:32px;line-height:1.2;
font-weight:700;letter-spacing:-.022em;overflow-wrap:anywhere}
h2{margin:0;font-size:17px;line-height:1.3;font-weight:650;letter-spacing:-.008em}
h3{margin:22px 0 8px;font-size:13.5px;font-weight:650}
p{margin:0}
.lead{margin-top:8px;color:var(--muted);max-width:75ch}
.pill{display:inline-flex;align-items:center;gap:7px;padding:3px 12px 3px 10px;border-radius:99px;font-size:13.5px;
font-weight:600;letter-spacing:0;line-height:1.5}
.pill::before{content:"";width:8px;height:8px;border-radius:50%;background:currentColor}
.ok{color:var(--ok);background:var(--ok-soft)}.bad{color:var(--bad);background:var(--bad-soft)}
.warn{color:var(--warn);background:var(--warn-soft)}.busy{color:var(--accent);background:var(--accent-soft)}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:14px 28px;margin:24px 0 0;
padding:18px 0 0;border-top:1px solid var(--line)}
.facts div{min-width:0}
dt{color:var(--muted);font-size:12.5px}
dd{margin:1px 0 0;font-size:14px;overflow-wrap:anywhere}
code,.mono{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(168px,1fr));gap:14px;margin:26px 0 0}
.tile{padding:15px 18px 16px;background:var(--card);border:1px solid var(--line);border-radius:14px;
box-shadow:var(--shadow)}
.tile .name{color:var(--muted);font-size:13px}
.tile .figure{margin-top:2px;font-size:27px;line-height:1.25;font-weight:660;letter-spacing:-.02em}
.tile .figure small{margin-left:5px;color:var(--muted);font-size:14px;font-weight:500;letter-spacing:0}
.tile .aside{color:var(--muted);font-size:12.5px}
.tile.alarm .figure{color:var(--bad)}
nav{display:flex;flex-wrap:wrap;gap:6px;margin:22px 0 0}
nav a{padding:4px 12px;border:1px solid var(--line);border-radius:99px;background:var(--card);color:var(--muted);
font-size:13px;text-decoration:none}
nav a:hover{color:var(--ink);border-color:var(--gray)}
section.card{margin:16px 0 0;padding:22px 24px 24px;background:var(--card);border:1px solid var(--line);
border-radius:16px;box-shadow:var(--shadow);scroll-margin-top:12px}
section .about{margin:3px 0 16px;color:var(--muted);font-size:13.5px;max-width:80ch}
.notice{margin:22px 0 0;padding:13px 18px;border-radius:12px;font-size:14px;overflow-wrap:anywhere}
.notice b{font-weight:650}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:10px 32px}
figure{margin:0;min-width:0}
figcaption{margin:0 0 6px;color:var(--muted);font-size:13px}
figcaption b{color:var(--ink);font-weight:600}
svg.plot{display:block;width:100%;height:auto;overflow:visible}
.grid{stroke:var(--line);stroke-width:1}
.tick{fill:var(--muted);font-size:11.5px;text-anchor:middle}
.tick.value{text-anchor:end;dominant-baseline:central}
.area{fill:var(--accent);opacity:.13}
.stroke{fill:none;stroke:var(--accent);stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}
.bar{fill:var(--accent)}.none{fill:var(--line)}
svg.spark{display:block}
.scroll{overflow-x:auto;margin:0 -24px;padding:0 24px}
table{width:100%;border-collapse:collapse;font-size:13.5px}
th{padding:0 14px 7px 0;color:var(--muted);font-size:12.5px;font-weight:500;text-align:left;white-space:nowrap;
border-bottom:1px solid var(--line)}
td{padding:8px 14px 8px 0;vertical-align:top;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
tr:last-child td{border-bottom:0}
th:last-child,td:last-child{padding-right:0}
.n{text-align:right;white-space:nowrap}
td.n,td.name{overflow-wrap:normal}
td.name{font-weight:550;white-space:nowrap}
td.wide{min-width:230px}
.track{display:flex;height:9px;margin-top:6px;border-radius:99px;overflow:hidden;background:var(--soft);min-width:120px}
.track i{display:block;height:100%;min-width:2px}
.fill{background:var(--accent)}.fill-ok{background:var(--ok)}.fill-bad{background:var(--bad)}
.fill-warn{background:var(--warn)}.fill-gray{background:var(--gray)}
.legend{display:flex;flex-wrap:wrap;gap:6px 20px;margin:10px 0 0;padding:0;list-style:none;color:var(--muted);
font-size:13px}
.legend i{display:inline-block;width:10px;height:10px;margin-right:7px;border-radius:3px}
.legend b{color:var(--ink);font-weight:600}
.bigbar .track{height:13px}
a{color:var(--accent)}
.url{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;color:inherit;
text-decoration-color:var(--line);text-underline-offset:3px;overflow-wrap:anywhere}
a.url:hover{color:var(--accent);text-decoration-color:currentColor}
.said{color:var(--muted);font-size:12.5px}
ul.plain{margin:0;padding:0;list-style:none}
ul.plain li{padding:5px 0;border-bottom:1px solid var(--line)}
ul.plain li:last-child{border-bottom:0}
details{margin-top:12px}
summary{width:fit-content;cursor:pointer;color:var(--muted);font-size:13px;border-radius:6px}
summary:hover{color:var(--ink)}
summary:focus-visible,a:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
details>:not(summary){margin-top:10px}
.way{display:inline-block;margin:0 4px 3px 0;padding:1px 8px;border-radius:6px;background:var(--soft);font-size:12.5px;
white-space:nowrap}
.way.ok{background:var(--ok-soft)}.way.bad{background:var(--bad-soft)}
.graph{display:flex;overflow-x:auto}
.graph svg{flex:none;margin:0 auto;max-width:100%;height:auto}
footer{padding-top:26px;padding-bottom:48px;color:var(--muted);font-size:12.5px}
@media (max-width:560px){main,header,footer{padding-left:16px;padding-right:16px}h1{font-size:26px}
section.card{padding:18px 16px}.scroll{margin:0 -16px;padding:0 16px}}
@media print{:root{color-scheme:light;--page:#fff;--card:#fff;--ink:#000;--muted:#444;--line:#d5d9e0;--soft:#eef0f3;
--accent:#3b5bdb;--accent-soft:#dfe6fb;--ok:#15803d;--ok-soft:#e3f4e8;--warn:#a75407;--warn-soft:#fcf0dc;--bad:#c22727;
--bad-soft:#fce8e8;--gray:#9aa5b5;--shadow:none}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
body{font-size:12px}nav,summary{display:none}header{padding-top:0}main,header,footer{max-width:none;padding:0}
section.card{padding:14px 0;border:0;border-top:1px solid var(--line);border-radius:0}
tr,figure,.tile,.bigbar{break-inside:avoid}h2{break-after:avoid}.scroll{overflow:visible}}
"""
