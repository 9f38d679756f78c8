"""The style sheet of a report: light, roomy, without a font or file from elsewhere."""

from __future__ import annotations

CSS = """
:root { --ink: #1b2430; --muted: #687385; --rule: #e3e7ec; --blue: #0072B2; --red: #B34700;
  --green: #00724f; --paper: #fff; }
* { box-sizing: border-box; }
body { margin: 0; background: #f6f7f9; color: var(--ink); -webkit-text-size-adjust: 100%;
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial,
  sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 56px 32px 96px; }
h1 { font-size: 32px; line-height: 1.2; margin: 4px 0 8px; letter-spacing: -.015em;
  overflow-wrap: anywhere; }
h2 { font-size: 21px; margin: 56px 0 6px; letter-spacing: -.01em; }
p { margin: 0 0 16px; max-width: 44em; }
.eyebrow { color: var(--blue); font-weight: 650; font-size: 13px; letter-spacing: .08em;
  text-transform: uppercase; margin: 0; }
.muted, figcaption, .note { color: var(--muted); font-size: 14px; }
code, pre { font: 13px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.notice { border-left: 4px solid var(--red); background: #fdf3ec; padding: 12px 18px;
  margin: 16px 0; border-radius: 0 8px 8px 0; overflow-wrap: anywhere; }
.notice.mild { border-color: #b9c1cc; background: #eef1f5; }
.notice strong { display: block; } .notice ul { margin: 4px 0 0; padding-left: 20px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(210px, 1fr)); gap: 16px;
  margin: 28px 0 8px; }
.tile, figure, .card, .scroll { background: var(--paper); border: 1px solid var(--rule);
  border-radius: 12px; }
.tile { padding: 16px 20px; } .tile .name { color: var(--muted); font-size: 14px; }
.tile .now { font-size: 30px; font-weight: 650; letter-spacing: -.02em; line-height: 1.25;
  font-variant-numeric: tabular-nums; }
.tile .then { color: var(--muted); font-size: 14px; }
.pictures { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; margin-top: 18px; }
figure { margin: 0; padding: 14px 14px 12px; } figure.wide { grid-column: 1 / -1; }
figure img { display: block; width: 100%; height: auto; }
figcaption { padding: 6px 8px 0; line-height: 1.45; }
.scroll { overflow-x: auto; margin: 16px 0; }
table { border-collapse: collapse; width: 100%; font-size: 14.5px;
  font-variant-numeric: tabular-nums; }
th, td { padding: 9px 16px; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
th { color: var(--muted); font-weight: 600; font-size: 13px; vertical-align: bottom; }
th:first-child, td:first-child, .left { text-align: left; }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 11em; }
tbody tr:last-child td { border-bottom: 0; } .aside { color: var(--muted); font-size: .9em; }
.dense .aside { display: block; } .dense td { vertical-align: top; }
.dense th { white-space: normal; min-width: 5.5em; }
.task { margin: 28px 0 0; } .task .question { font-weight: 600; margin: 0 0 2px; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; margin-top: 10px; }
.card { padding: 14px 18px 16px; min-width: 0; }
.card header { display: flex; justify-content: space-between; gap: 12px; font-size: 14px;
  color: var(--muted); border-bottom: 1px solid var(--rule); padding-bottom: 8px; }
.solved { color: var(--green); font-weight: 650; }
.unsolved { color: var(--red); font-weight: 650; }
.turn { margin-top: 12px; } .who { font-size: 13px; color: var(--muted); }
.who b { color: var(--ink); font-weight: 600; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; max-height: 15em;
  overflow-y: auto; }
.silent { color: var(--muted); font-style: italic; }
.wrap { overflow-wrap: anywhere; unicode-bidi: isolate; }
details { margin-top: 16px; } summary { cursor: pointer; color: var(--blue); font-weight: 600; }
pre { background: var(--paper); border: 1px solid var(--rule); border-radius: 12px;
  padding: 18px 22px; overflow-x: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 24px; font-size: 14.5px; }
dt { font-weight: 600; } dd { margin: 0; color: #46505e; }
a { color: var(--blue); }
@media (max-width: 760px) { main { padding: 32px 16px 64px; }
  .pictures, .pair, dl { grid-template-columns: 1fr; } dl { gap: 0; } dd { margin-bottom: 8px; } }
@media print { body { background: #fff; } main { padding: 0; }
  figure, .card { break-inside: avoid; } }
"""
