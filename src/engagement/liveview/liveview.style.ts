import { readableOn } from '../../lib/colors.ts'
import { darkGround, darkTheme, type FullTheme, fontFamily } from '../../studio/studio.ts'

const variables = ({ primary, background, text }: FullTheme): string => `:root {
  color-scheme: ${readableOn(background) === '#ffffff' ? 'dark' : 'light'};
  --ink: ${text};
  --quiet: ${text};
  --ground: ${background};
  --card: ${background};
  --line: ${text};
  --act: ${primary};
  --on-act: ${readableOn(primary)};
  --link: ${text}
}`

const box = (className: string, background: string, text: string): string => {
  // The author's text colour if it is readable on the box, else black or white.
  const ink = readableOn(background) === readableOn(text) ? readableOn(background) : text
  return `.${className} { background: ${background}; --ink: ${ink}; --quiet: ${ink}; color: ${ink} }`
}

/** Keeps a block with an author's colours light in dark mode: the text and the ground that they were chosen for. */
const ownColors = ({ background, text }: FullTheme, boxes: readonly { className: string; background: string }[]) => {
  const rule = (selector: string, ground: string) => {
    const ink = readableOn(ground) === readableOn(text) ? readableOn(ground) : text
    return `${selector} { padding: .5rem; background: ${ground}; color: ${ink} }`
  }
  return [
    rule('.own-colors', background),
    ...boxes.map((one) => rule(`.${one.className} .own-colors`, one.background)),
  ].join('\n')
}

/** Returns the author's colours, and colours derived from them for dark mode. `boxes` have a background of their own. */
const colours = (theme: FullTheme, boxes: readonly { className: string; background: string }[]): string => {
  const dark = darkTheme(theme)
  const { font, width } = theme
  return `
${variables(theme)}
${boxes.map(({ className, background }) => box(className, background, theme.text)).join('\n')}
${
  dark
    ? `@media screen and (prefers-color-scheme: dark) {
${variables(dark)}
${boxes.map(({ className, background }) => box(className, darkGround(background), dark.text)).join('\n')}
${ownColors(theme, boxes)}
}`
    : ''
}
body { font-family: ${fontFamily(font)} }
main { max-width: ${width}px; margin-top: 1rem; padding: 1rem; border: 0; box-shadow: none }`
}

const layout = `
section, .rest, .progress { --edge: color-mix(in srgb, var(--ink) 62%, transparent) }
a { color: inherit }
.brand { border-color: color-mix(in srgb, var(--ink) 20%, transparent) }
h2, h3, h4 { margin: 0 0 .5rem; line-height: 1.25 }
h2 { font-size: 1.35rem }
h3 { font-size: 1.2rem }
h4 { font-size: 1.05rem }
section { container-type: inline-size; margin: 0 0 1.75rem; scroll-margin-top: 1rem }
.box { padding: 1rem; border-radius: .5rem; margin: 0 0 1.5rem }
.box > :last-child { margin-bottom: 0 }
.part { margin: 0 0 1rem }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 12rem), 1fr)); gap: 1rem }
fieldset { margin: 0; padding: 0; border: 0; min-width: 0 }
legend { padding: 0; margin: 0 0 .5rem; font-weight: 600; font-size: 1.1rem }
.options { display: grid; gap: .5rem }
.options + p { margin-top: .5rem }
.option { text-align: left; background: transparent; color: var(--ink); box-shadow: inset 0 0 0 1px var(--edge) }
@media (hover: hover) and (pointer: fine) {
  .options:not(.row) { counter-reset: option }
  .options:not(.row) .option::before {
    counter-increment: option; content: counter(option, upper-alpha) / '';
    display: inline-block; min-width: 1.5rem; margin-right: .75rem; padding: 0 .35rem;
    border: 1px solid currentcolor; border-radius: .25rem; font-size: .8rem; text-align: center
  }
}
.option.given { background: var(--act); color: var(--on-act) }
.option:not(.row *).given::after { content: ' ✓' }
.option.chosen { box-shadow: inset 0 0 0 3px var(--ink) }
@media (hover: hover) { .option:not(.given):hover { filter: none; background: color-mix(in srgb, var(--act) 9%, transparent) } }
.row .option { padding: 0; text-align: center }
${[2, 3, 4, 5, 6, 7].map((n) => `.in-${n} { grid-template-columns: repeat(${n}, minmax(0, 1fr)) }`).join('\n')}
@container (min-width: 30rem) {
  .row { grid-auto-flow: column; grid-template-columns: none; grid-auto-columns: minmax(0, 3.5rem) }
}
.first { margin-bottom: 2.5rem }
.first :is(legend, h2) {
  margin-bottom: .75rem; font-size: 1.6rem; line-height: 1.2; letter-spacing: -.015em; text-wrap: balance
}
.rest { margin: 0 0 1rem; padding-top: 1.5rem; border-top: 1px solid var(--edge); font-size: 1rem; font-weight: 400 }
.good { --mark: #2f8f5b }
.bad { --mark: #d0453c }
.notice.good, .notice.bad { border-color: var(--mark); background: color-mix(in srgb, var(--mark) 11%, transparent) }
.notice.good::before { content: '✓ '; font-weight: 700 }
.notice.bad::before { content: '✗ '; font-weight: 700 }
.graded { display: grid; gap: .5rem; margin: 0 0 1rem; padding: 0; list-style: none }
.graded li {
  display: flex; flex-wrap: wrap; gap: 0 1rem; padding: .65rem 1.1rem; border: 1px solid var(--edge); border-radius: .5rem
}
.graded li:is(.good, .bad) { border: 2px solid var(--mark); font-weight: 600 }
.graded span { margin-left: auto; font-weight: 400 }
.field { margin: 0 0 .75rem }
label { display: block; font-weight: 600 }
.check { display: flex; gap: .5rem; align-items: center }
input:not([type=checkbox], [type=radio]), select, textarea {
  display: block;
  width: 100%;
  min-height: 2.75rem;
  padding: .5rem;
  font: inherit;
  color: inherit;
  background: transparent;
  border: 1px solid var(--edge);
  border-radius: .5rem
}
option { color: #000; background: #fff }
input[type=checkbox] { width: 1.5rem; height: 1.5rem }
section table { width: 100%; border-collapse: collapse; margin: 0 0 .75rem }
section :is(td, th) { padding: .25rem 0; text-align: left }
section td:last-child { text-align: right; white-space: nowrap }
.markup { margin: 0 0 1rem }
.markup table { max-width: 100% }
img { max-width: 100%; height: auto }
hr { border: 0; border-top: 1px solid var(--line); opacity: .4; margin: 0 0 1.5rem }
.button {
  display: inline-block;
  padding: .65rem 1.1rem;
  border-radius: .5rem;
  font-weight: 600;
  background: var(--act);
  color: var(--on-act);
  text-decoration: none
}
.left > p, .center > p, .right > p { margin: 0 0 1rem }
.left { text-align: left }
.center { text-align: center }
.right { text-align: right }
.problem {
  padding: .75rem 1rem; border-left: .25rem solid var(--mark); border-radius: .5rem; font-weight: 600; --mark: #d0453c;
  background: color-mix(in srgb, var(--mark) 11%, transparent)
}
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
:focus-visible { outline-color: var(--ink) }
section:focus { outline: 0 }
html:has(nav.progress) { scroll-padding-bottom: 5rem }
.progress {
  position: sticky; bottom: 0; display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; padding: .75rem 0;
  border-top: 1px solid var(--edge); background: var(--ground); font-size: .95rem
}
.progress div { flex: 1 1 7rem }
.progress progress { display: block; width: 100%; height: .5rem; margin: .25rem 0 0 }
.progress a { font-weight: 600 }
@media print { .progress { display: none } }
`

export const liveViewStyle = (theme: FullTheme, boxes: readonly { className: string; background: string }[]): string =>
  `${colours(theme, boxes)}${layout}`
