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
.tools { color: var(--soft); font-variant-numeric: tabular-nums; }
.tools button { margin-inline-start: .75rem; }
.foot { margin-block-start: .75rem; }
.foot:empty { display: none; }
.empty { padding: 1.25rem; border: 1px dashed var(--line); border-radius: .5rem; color: var(--soft); }
.empty pre { margin-block-start: .5rem; color: var(--ink); }
.note { margin-block-end: .75rem; color: var(--soft); }

.panels { display: grid; gap: 1.25rem; }
.panel { min-width: 0; padding: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .625rem; }
.panel h2 a { color: inherit; text-decoration: none; }
.panel h2 a:hover { text-decoration: underline; }
.panel h2 a::after { content: " →"; color: var(--soft); }
.panel .head { margin-block-end: .5rem; }

.rows > li { border-block-start: 1px solid var(--line); }
.rows:empty { display: none; }
main > .rows { padding: 0 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .625rem; }
.rows > li:first-child { border-block-start: 0; }
summary {
  display: flex;
  flex-wrap: wrap;
  gap: 0 .875rem;
  align-items: baseline;
  padding: .4375rem .25rem;
  cursor: pointer;
}
summary:hover { background: var(--well); }
details[open] { padding-block-end: .75rem; }
.type { font-weight: 600; min-width: 9.5rem; overflow-wrap: anywhere; }
.id { flex: 1 1 16rem; color: var(--soft); overflow-wrap: anywhere; }
.status { color: var(--soft); font-variant-numeric: tabular-nums; }
summary time { margin-inline-start: auto; }
.panel summary .id { order: 1; flex-basis: 100%; }
.panel summary .type { flex: 1; }

.calls > li { display: flex; flex-wrap: wrap; gap: 0 .875rem; align-items: baseline; padding: .4375rem .25rem; }
.method { min-width: 3.25rem; font-weight: 600; }
.path { flex: 1 1 14rem; overflow-wrap: anywhere; }
.code { font-weight: 600; font-variant-numeric: tabular-nums; }
.ms { min-width: 4.5rem; color: var(--soft); text-align: end; font-variant-numeric: tabular-nums; }
.calls .id { flex: 0 1 auto; }

.mails a {
  display: grid;
  grid-template-columns: minmax(0, 1fr) auto;
  gap: 0 1rem;
  padding: .5625rem .25rem;
  color: inherit;
  text-decoration: none;
}
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
.search { display: flex; gap: .375rem; flex: 1 1 16rem; max-width: 30rem; }
input[type="search"] {
  flex: 1;
  min-width: 0;
  padding: .3125rem .625rem;
  border: 1px solid var(--soft);
  border-radius: .375rem;
  background: var(--card);
}
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
iframe.phone { width: 377px; max-width: 100%; }

@media (max-width: 40rem) {
  main { padding: .75rem; }
  header { padding: .5rem .75rem; }
  header nav ul { gap: 0; }
  header nav a { padding: .25rem .4375rem; font-size: .875rem; }
  .brand { font-size: .875rem; }
  .clock { margin: 0; }
  .clock .now { font-size: .875rem; }
  .panel .calls .id { display: none; }
  .calls time { margin-inline-start: auto; }
  .ms { min-width: 0; }
  .path { flex-basis: 11rem; }
  .banner, #connection:not(:empty) { padding: .5rem .75rem; }
}
@media (min-width: 62rem) {
  .panels { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
  .panel:last-child { grid-column: 1 / -1; }
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
