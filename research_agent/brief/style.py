"""The style of the HTML brief. It is part of the page, whose content security policy knows its hash."""

from __future__ import annotations

CSS = """
:root {
  --paper: #fbfaf7; --ink: #1d1c1a; --soft: #6a665e; --line: #e2ded4; --accent: #8a3b12; --card: #fff;
  --shade: 0 1px 2px #0000000f, 0 12px 40px #00000024;
  color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #171614; --ink: #e8e4db; --soft: #9d978b; --line: #34312c; --accent: #e39a6b; --card: #211f1c;
    --shade: 0 12px 40px #000000a0;
  }
}
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%; }
body {
  margin: 0;
  font: 1.125rem/1.62 Charter, "Bitstream Charter", "Sitka Text", Cambria, "Noto Serif",
    "Noto Serif CJK JP", Georgia, serif;
  font-kerning: normal; text-rendering: optimizeLegibility; hanging-punctuation: first last;
}
main { max-width: 38rem; margin: 0 auto; padding: clamp(2rem, 8vh, 6rem) 1.5rem 6rem; }
.kind, .facts, h2, summary, .reference, .address, cite, sup, .open li, .sources i {
  font-family: Seravek, "Gill Sans Nova", Ubuntu, Calibri, "DejaVu Sans", "Noto Sans",
    "Noto Sans CJK JP", source-sans-pro, sans-serif;
}
.kind { margin: 0; color: var(--accent); font-size: .75rem; letter-spacing: .14em; text-transform: uppercase; }
h1 {
  margin: .5rem 0 .8rem; font-size: clamp(1.8rem, 5vw, 2.5rem); line-height: 1.16; font-weight: 600;
  letter-spacing: -.012em; text-wrap: balance; overflow-wrap: anywhere;
}
.facts { margin: 0; color: var(--soft); font-size: .84rem; }
.note { margin: 1.4rem 0 0; padding: .1rem 0 .1rem 1rem; border-left: 3px solid var(--accent); font-style: italic; }
header { padding-bottom: 1.8rem; border-bottom: 1px solid var(--line); }
ul.brief { list-style: none; margin: 2.2rem 0 0; padding: 0; }
ul.brief > li { margin: 0 0 1.15rem; text-wrap: pretty; overflow-wrap: break-word; }
.lead { margin: 2rem 0 0; font-size: 1.16em; line-height: 1.5; text-wrap: pretty; }
h2.question { margin: 2.6rem 0 0; color: var(--ink); font-size: 1.02rem; letter-spacing: 0; text-transform: none; }
h2.question + ul.brief { margin-top: .9rem; }
.wide { overflow-x: auto; margin: 1.4rem 0 0; }
table { border-collapse: collapse; font-size: .92em; line-height: 1.4; width: 100%; }
th, td { text-align: start; vertical-align: top; padding: .5rem .9rem .5rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
.left-out li { margin: 0 0 .5rem; } .left-out i { color: var(--soft); }
sup {
  font-size: .68em; line-height: 0; vertical-align: baseline; position: relative; top: -.42em;
  margin-left: .14em;
}
sup button {
  font: inherit; color: var(--accent); background: none; border: 0; border-radius: .3em; padding: .25em .34em;
  margin: 0; cursor: pointer;
  font-variant-numeric: tabular-nums;
}
sup button:hover, sup button:focus-visible {
  background: color-mix(in srgb, var(--accent) 16%, transparent); outline: none;
}
sup button:focus-visible { box-shadow: 0 0 0 2px var(--accent); }
.passage { display: none; }
.passage:popover-open {
  display: block; position: fixed; inset: auto 0 0 0; margin: 0 auto clamp(1rem, 4vh, 2.5rem);
  width: min(36rem, calc(100vw - 2rem)); max-height: 60vh;
  overflow: auto; padding: 1.3rem 1.5rem; border: 1px solid var(--line); border-radius: .8rem;
  background: var(--card); color: var(--ink);
  box-shadow: var(--shade); text-align: start; font-size: 1rem; line-height: 1.55;
}
.quote { display: block; quotes: "“" "”" "‘" "’"; }
.quote.none { color: var(--soft); font-style: italic; }
.reference {
  display: block; margin-top: .9rem; padding-top: .7rem; border-top: 1px solid var(--line); font-size: .82rem;
  line-height: 1.45; color: var(--soft);
}
.reference b { color: var(--accent); margin-inline-end: .3em; }
i { font-style: normal; color: var(--soft); }
h2, summary {
  margin: 3rem 0 .9rem; font-size: .8rem; font-weight: 600; letter-spacing: .12em; text-transform: uppercase;
  color: var(--soft);
}
a {
  color: inherit; text-decoration: underline; text-decoration-color: var(--accent);
  text-decoration-thickness: 1px; text-underline-offset: .18em;
}
a:hover { color: var(--accent); }
.open ul { margin: 0; padding-inline-start: 1.1rem; color: var(--soft); font-size: .88rem; line-height: 1.5; }
.open li { margin-bottom: .5rem; }
.sources, .passages ol { margin: 0; padding-inline-start: 1.8rem; font-size: .95rem; line-height: 1.45; }
.sources li, .passages li { margin-bottom: .85rem; padding-inline-start: .3rem; }
.sources li::marker, .passages li::marker {
  color: var(--accent); font-size: .85em; font-variant-numeric: tabular-nums;
}
.sources li:target { outline: 2px solid var(--accent); outline-offset: .4rem; border-radius: .2rem; }
.sources i { font-size: .84rem; }
.address { display: block; color: var(--soft); font-size: .74rem; overflow-wrap: anywhere; }
summary { cursor: pointer; }
.passages p { margin: 0; }
blockquote {
  margin: .35rem 0 0; padding-inline-start: .9rem; border-inline-start: 2px solid var(--line);
  color: var(--soft);
}
cite { display: block; margin-top: .2rem; font-size: .74rem; font-style: normal; }
@media print {
  :root { --paper: #fff; --ink: #000; --soft: #444; --line: #bbb; --accent: #000; }
  @page { margin: 20mm 22mm; }
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  .passage { display: none !important; }
  ul.brief > li, .sources li, .passages li { break-inside: avoid; }
  h2, summary { break-after: avoid; }
  details.passages::details-content { content-visibility: visible; block-size: auto; }
  a { text-decoration: none; }
}
"""
