/** The style sheet of the console: for widths from 320 px, light and dark, without external resources. */
export const consoleStyle = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#17202b, #e5e9f0);
  --soft: light-dark(#566173, #9ba7b9);
  --line: light-dark(#dfe4ec, #2a3341);
  --ground: light-dark(#f5f7fa, #0f1318);
  --card: light-dark(#ffffff, #161c24);
  --well: light-dark(#eef2f7, #1e2631);
  --act: light-dark(#0b6b62, #5ed3c4);
  --on-act: light-dark(#ffffff, #06211e);
  --good: light-dark(#11703a, #5fd08b);
  --bad: light-dark(#b3261e, #ff8a80);
  --warn-ground: light-dark(#fff4d6, #3a2f10);
  --warn-ink: light-dark(#6b4a00, #ffd977);
  --email-ground: light-dark(#e3edfb, #16304f);
  --email-ink: light-dark(#1a4f9c, #9cc7ff);
  --webhook-ground: light-dark(#dff3ef, #0f3a34);
  --webhook-ink: light-dark(#0b5f56, #6fdccd);
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, monospace;
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: .9375rem/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.25rem; line-height: 1.3; overflow-wrap: anywhere; }
h2 { margin: 0; font-size: 1rem; }
p { margin: 0; }
ol, ul { margin: 0; padding: 0; list-style: none; }
a { color: var(--act); }
code, pre, .id, .path, .method { font-family: var(--mono); font-size: .8125rem; }
pre {
  margin: 0;
  padding: .75rem;
  border-radius: .375rem;
  background: var(--well);
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
button, input { font: inherit; color: inherit; }
button {
  padding: .3125rem .75rem;
  border: 1px solid var(--line);
  border-radius: .375rem;
  background: var(--card);
  cursor: pointer;
}
button:hover { border-color: var(--soft); }
button[aria-pressed="true"] { background: var(--act); border-color: var(--act); color: var(--on-act); }
button.danger { color: var(--bad); }
:focus-visible { outline: 2px solid var(--act); outline-offset: 2px; }
.unseen, .skip:not(:focus) {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}
.quiet { color: var(--soft); }
.good { color: var(--good); }
.bad { color: var(--bad); }
.pill {
  padding: .0625rem .5rem;
  border-radius: 1rem;
  background: var(--well);
  font-size: .8125rem;
  white-space: nowrap;
}
.pill.warn { background: var(--warn-ground); color: var(--warn-ink); }
time { color: var(--soft); font-size: .8125rem; font-variant-numeric: tabular-nums; white-space: nowrap; }

header {
  display: flex;
  flex-wrap: wrap;
  gap: .25rem 1.5rem;
  align-items: center;
  padding: .5rem 1.25rem;
  background: var(--card);
  border-bottom: 1px solid var(--line);
}
.brand { color: inherit; text-decoration: none; font-family: var(--mono); font-size: 1rem; }
.brand b { color: var(--act); }
header nav ul { display: flex; flex-wrap: wrap; gap: .25rem; }
header nav a {
  display: block;
  padding: .375rem .625rem;
  border-radius: .375rem;
  color: var(--soft);
  text-decoration: none;
}
header nav a:hover { background: var(--well); color: var(--ink); }
header nav a[aria-current] { background: var(--well); color: var(--ink); font-weight: 600; }
.clock { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; margin-inline-start: auto; }
#clock-form { display: none; }
.clock .now { font-variant-numeric: tabular-nums; }
.clock .quiet, .clock .pill { margin-inline-start: .25rem; font-size: .8125rem; }
.clock .buttons { display: flex; gap: .25rem; }
.clock button { padding: .1875rem .5rem; font-size: .8125rem; }
#connection:not(:empty) { padding: .5rem 1.25rem; background: var(--bad); color: var(--card); }
.banner {
  display: flex;
  flex-wrap: wrap;
  gap: .5rem 1rem;
  align-items: center;
  padding: .5rem 1.25rem;
  background: var(--warn-ground);
  color: var(--warn-ink);
}
.banner button { background: transparent; border-color: currentColor; }

main { max-width: 90rem; margin: 0 auto; padding: 1.25rem; }
.head {
  display: flex;
  flex-wrap: wrap;
  gap: .25rem 1.5rem;
  align-items: baseline;
  justify-content: space-between;
  margin-block-end: .75rem;
}
.tools {
  display: flex;
  flex-wrap: wrap;
  gap: .25rem .75rem;
  align-items: baseline;
  color: var(--soft);
  font-variant-numeric: tabular-nums;
}
.foot { margin-block-start: .75rem; }
.foot:empty { display: none; }
.empty { padding: 1.25rem; border: 1px dashed var(--line); border-radius: .5rem; color: var(--soft); }
.empty pre { margin-block-start: .5rem; color: var(--ink); }
.note { margin-block-end: .75rem; color: var(--soft); }

.rows > li { border-block-start: 1px solid var(--line); }
.rows:empty { display: none; }
main > .rows { padding: 0 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .625rem; }
.rows > li:first-child { border-block-start: 0; }
summary { cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
.row {
  display: grid;
  grid-template-columns: 4.75rem minmax(0, 1fr) auto;
  gap: 0 .75rem;
  align-items: baseline;
  padding: .5rem .25rem;
  color: inherit;
  text-decoration: none;
}
summary.row:hover, a.row:hover { background: var(--well); }
details[open] { padding-block-end: .75rem; }
details[open] > summary { background: var(--well); box-shadow: inset 3px 0 var(--act); padding-inline-start: .75rem; }
.kind {
  justify-self: start;
  padding: .0625rem .4375rem;
  border-radius: .25rem;
  background: var(--well);
  color: var(--soft);
  font-size: .75rem;
  font-weight: 600;
}
.kind.email { background: var(--email-ground); color: var(--email-ink); }
.kind.webhook { background: var(--webhook-ground); color: var(--webhook-ink); }
.kind.call { font-family: var(--mono); }
.kind.warn { background: var(--warn-ground); color: var(--warn-ink); }
.what { display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline; min-width: 0; overflow-wrap: anywhere; }
.what > * { min-width: 0; }
.type { font-weight: 600; }
.id { color: var(--soft); font-size: .75rem; margin-inline-start: auto; }
.query { color: var(--soft); }
.end { display: flex; gap: .75rem; align-items: baseline; white-space: nowrap; }
.row .end::after { content: "›"; width: .5rem; color: var(--soft); }
details[open] > .row .end::after { content: "⌄"; }
div.row .end::after { visibility: hidden; }
.links .row .end::after { content: none; }
.status { color: var(--soft); font-variant-numeric: tabular-nums; }
.code { font-weight: 600; font-variant-numeric: tabular-nums; }
.ms { min-width: 4rem; color: var(--soft); text-align: end; font-size: .8125rem; font-variant-numeric: tabular-nums; }
.of-webhooks .row { grid-template-columns: minmax(0, 1fr) auto; }
.of-webhooks .kind { display: none; }
.bodies h2 { margin: 0 0 .25rem; color: var(--soft); font-size: .8125rem; }
.bodies { display: grid; gap: .75rem; padding-block-start: .5rem; }
.bodies > div { min-width: 0; }
.bodies > div:empty { display: none; }
.links .row { grid-template-columns: 13rem minmax(0, 1fr) auto; }
.links .what { display: grid; }
.links .subject { font-weight: 400; }
.links code { color: var(--soft); }
.check { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; }

#news { position: fixed; z-index: 1; inset: auto 0 1rem; display: grid; justify-content: center; pointer-events: none; }
#news button {
  padding: .5rem 1.25rem;
  border-color: var(--act);
  border-radius: 2rem;
  background: var(--act);
  color: var(--on-act);
  box-shadow: 0 .25rem 1rem #0004;
  pointer-events: auto;
}

.mails a {
  display: grid;
  grid-template-columns: minmax(0, 1fr) auto;
  gap: 0 1rem;
  padding: .5625rem .25rem;
  color: inherit;
  text-decoration: none;
}
/* An email that this browser has opened. */
.mails a:visited, .rows a.row:visited { color: var(--soft); }
.mails a:hover, .mails a[aria-current] { background: var(--well); }
.mails a[aria-current] { box-shadow: inset 3px 0 var(--act); padding-inline-start: .75rem; }
.subject { font-weight: 600; overflow-wrap: anywhere; }
.to { grid-column: 1 / -1; font-size: .8125rem; overflow-wrap: anywhere; }
.beginning {
  grid-column: 1 / -1;
  color: var(--soft);
  font-size: .8125rem;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.bar { display: flex; flex-wrap: wrap; gap: .75rem 1.5rem; align-items: end; margin-block-end: 1rem; }
.search { display: flex; gap: .375rem; align-items: center; flex: 1 1 16rem; min-width: 0; max-width: 34rem; }
main > .search { margin-block-end: 1rem; }
input[type="search"] {
  flex: 1;
  min-width: 0;
  padding: .3125rem .625rem;
  border: 1px solid var(--soft);
  border-radius: .375rem;
  background: var(--card);
}
.help { padding-inline: .625rem; color: var(--soft); }
#syntax {
  max-width: min(34rem, 100vw - 2rem);
  padding: 1rem 1.25rem;
  border: 1px solid var(--line);
  border-radius: .625rem;
  background: var(--card);
  color: inherit;
  box-shadow: 0 .5rem 2rem #0003;
}
#syntax::backdrop { background: #0003; }
#syntax dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .375rem 1.25rem; margin: .75rem 0 0; }
#syntax dd { color: var(--soft); }
fieldset { margin: 0; padding: 0; border: 0; min-width: 0; }
legend { padding: 0; color: var(--soft); font-size: .8125rem; }
#modes { display: flex; flex-wrap: wrap; gap: .25rem; }
#clear { margin-inline-start: auto; }

.beside { display: grid; gap: 1.25rem; }
.others { display: none; }
article { min-width: 0; display: grid; gap: .875rem; align-content: start; grid-template-columns: minmax(0, 1fr); }
.facts, .headers { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .125rem 1rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.headers { gap: .375rem 1rem; }
.headers dt, .headers dd { font-family: var(--mono); font-size: .8125rem; }
.attachments { display: flex; flex-wrap: wrap; gap: .5rem; }
.attachments li {
  padding: .25rem .75rem;
  border: 1px solid var(--line);
  border-radius: .375rem;
  background: var(--card);
  overflow-wrap: anywhere;
}
.tabs { display: flex; flex-wrap: wrap; gap: .25rem; border-block-end: 1px solid var(--line); }
.tabs a {
  display: block;
  padding: .375rem .75rem;
  color: var(--soft);
  text-decoration: none;
  border-block-end: 2px solid transparent;
}
.tabs a[aria-current] { color: var(--ink); font-weight: 600; border-color: var(--act); }
.widths { display: flex; gap: 1rem; font-size: .8125rem; }
.widths a[aria-current] { color: var(--ink); font-weight: 600; text-decoration: none; }
iframe {
  display: block;
  width: 100%;
  height: max(30rem, 72vh);
  border: 1px solid var(--line);
  border-radius: .5rem;
  background: #ffffff;
  color-scheme: light;
  resize: vertical;
}
.frame { overflow-x: auto; }
iframe.tablet { width: 770px; }
iframe.phone { width: 377px; }
.checks li { padding: .5rem .25rem; overflow-wrap: anywhere; }

@media print { :root { color-scheme: light; } }

@media (max-width: 72rem) {
  .row .id { display: none; margin: 0; }
  details[open] .id, .about:empty + .id { display: block; }
}
@media (max-width: 40rem) {
  main { padding: .75rem; }
  header { padding: .5rem .75rem; }
  header nav ul { gap: 0; }
  header nav a { padding: .25rem .4375rem; font-size: .875rem; }
  .brand { font-size: .875rem; }
  .clock { margin: 0; }
  .clock .now { font-size: .875rem; }
  .row { grid-template-columns: auto minmax(0, 1fr); gap: .125rem .75rem; }
  .row .what { grid-area: 2 / 1 / auto / -1; }
  .row .end { grid-area: 1 / 2; justify-content: end; }
  .type, .subject, .about, .path { flex-basis: 100%; }
  .end { gap: .5rem; }
  .end .ms { min-width: 0; }
  .rows .status { display: none; }
  .of-webhooks .row .end { grid-area: 1 / 1 / auto / -1; }
  .links .row { grid-template-columns: minmax(0, 1fr) auto; }
  .tabs a { padding: .375rem .5rem; }
  .banner, #connection:not(:empty) { padding: .5rem .75rem; }
  #syntax dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  #syntax dd { margin-block-end: .5rem; }
}
@media (min-width: 62rem) {
  .bodies { grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); }
  .beside { grid-template-columns: 20rem minmax(0, 1fr); }
  .others {
    display: block;
    align-self: start;
    max-height: calc(100vh - 6rem);
    overflow: auto;
    padding: 0 .5rem;
    background: var(--card);
    border: 1px solid var(--line);
    border-radius: .625rem;
  }
  .back { display: none; }
}
`
