import { palette, type Scheme } from '../lib/palette.ts'

const variables = (scheme: Scheme): string => {
  const { onAct, act, ...colors } = palette[scheme]
  return Object.entries({ ...colors, act, 'on-act': onAct, link: act })
    .map(([name, color]) => `--${name}: ${color}`)
    .join('; ')
}

/** The common style of all pages, inlined: legible from 320 px of width, light and dark. */
export const style = `
:root { color-scheme: light dark; ${variables('light')} }
@media screen and (prefers-color-scheme: dark) { :root { ${variables('dark')} } }
* { box-sizing: border-box }
html { accent-color: var(--act) }
body {
  margin: 0;
  padding: 1rem;
  border-top: .3rem solid var(--act);
  background: var(--ground);
  color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere
}
main {
  max-width: 34rem;
  margin: clamp(0rem, 7vh, 4rem) auto 0;
  padding: clamp(1.25rem, 5vw, 2rem);
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 1rem;
  box-shadow: 0 1px 2px rgb(0 0 0 / 4%), 0 1rem 2.5rem -1rem rgb(0 0 0 / 14%)
}
h1 { margin: 0 0 .75rem; font-size: 1.6rem; line-height: 1.2; letter-spacing: -.015em; text-wrap: balance }
p { margin: 0 0 1rem; text-wrap: pretty }
p:last-child { margin-bottom: 0 }
.quiet { color: var(--quiet) }
a { color: var(--link) }
button, .act {
  font: inherit;
  font-weight: 600;
  padding: .65rem 1.1rem;
  min-height: 2.75rem;
  border: 0;
  border-radius: .5rem;
  background: var(--act);
  color: var(--on-act);
  cursor: pointer
}
.act { display: inline-block; text-decoration: none }
.plain { background: transparent; color: var(--link); box-shadow: inset 0 0 0 1px var(--quiet) }
@media (hover: hover) {
  button:hover, .act:hover { filter: brightness(.93) }
  .plain:hover { filter: none; background: var(--ground) }
}
.notice {
  padding: .75rem 1rem;
  border-left: .25rem solid var(--act);
  border-radius: .5rem;
  background: color-mix(in srgb, var(--act) 9%, transparent)
}
.success {
  display: grid;
  place-items: center;
  width: 3rem;
  height: 3rem;
  margin: 0 0 1rem;
  border-radius: 50%;
  background: var(--act);
  color: var(--on-act);
  font-size: 1.5rem
}
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
@media print {
  :root { color-scheme: light; --ground: #fff }
  body { padding: 0; border: 0; -webkit-print-color-adjust: exact; print-color-adjust: exact }
  main { max-width: none; margin: 0; padding: 0; border: 0; box-shadow: none }
}
`

/** Added by pages that have fields: `PageView.style`. */
export const formStyle = `
.field { margin: 0 0 1rem }
label { display: block; margin: 0 0 .25rem; font-weight: 600 }
input, select, textarea {
  font: inherit; width: 100%; min-height: 2.75rem; padding: .55rem .7rem; border: 1px solid var(--quiet); border-radius: .5rem;
  background: var(--card); color: var(--ink)
}
:root { --fault: #b3261e }
@media screen and (prefers-color-scheme: dark) { :root { --fault: #ffb4ab } }
.fault { color: var(--fault) }
@media (max-width: 30rem) { form > button { width: 100% } }
.trap { position: absolute; left: -10000px; width: 1px; height: 1px; overflow: hidden }
`
