export const style = `
:root {
  scroll-padding-top: 1rem; --get: #0b6bcb; --post: #1a7f37; --put: #9a6700; --patch: #8250df; --delete: #cf222e; --soft: #eef1f5;
  --code: #10172a; --code-line: #2a3550; --code-ink: #e4e9f2; --code-quiet: #a9b4c8
}
@media screen and (prefers-color-scheme: dark) { :root {
  --get: #79b8ff; --post: #6fdd8b; --put: #e3b341; --patch: #d2a8ff; --delete: #ff9b93; --soft: #232b35; --code: #0b0f17; --code-line: #2c3644
} }
body { padding: 0; overflow-wrap: break-word }
main { max-width: none; margin: 0; padding: 0; border: 0; border-radius: 0 }
code, pre, textarea { font: .8125rem/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
p code, td code, .type code, .tag code { padding: .1em .3em; border-radius: .3rem; background: var(--soft); overflow-wrap: anywhere }
h1 { font-size: 1.9rem; letter-spacing: -.02em } h2 { margin: 0 0 .75rem; font-size: 1.45rem; letter-spacing: -.01em; line-height: 1.25 }
h3 { margin: 0 0 .4rem; font-size: 1.1rem; line-height: 1.35 } h4 { margin: 1.5rem 0 .25rem; font-size: .8125rem; text-transform: uppercase; letter-spacing: .06em; color: var(--quiet) }
.lead { font-size: 1.1rem }
a { text-underline-offset: .15em }
:is(h2, h3) a { color: inherit; text-decoration: none } :is(h2, h3) a:hover::after { content: ' #'; color: var(--quiet) }
[hidden] { display: none !important }

.side { padding: 1rem 1.25rem; border-bottom: 1px solid var(--line); background: var(--ground); font-size: .9rem }
.side p { margin: 0 } .side ul { margin: 0 0 1rem; padding: 0; list-style: none }
.side a { display: flex; align-items: baseline; justify-content: space-between; gap: .5rem; padding: .3rem .6rem; margin: 0 -.6rem; border-radius: .4rem; color: var(--ink); text-decoration: none }
.side a:hover { background: var(--soft) } .side [aria-current] { background: var(--soft); font-weight: 600 }
.side .brand { display: flex; align-items: center; justify-content: space-between } .side .brand a { font-weight: 700; font-size: 1.05rem } .menu { display: none; min-height: 2.25rem; padding: .25rem .75rem } .side .group { margin-top: .25rem } .side .group a { font-weight: 600 }
.side .method, .side .kind { flex: none; margin: 0; font-size: .6875rem; min-width: 0; padding: 0; border: 0; background: none } .side .kind { color: var(--quiet) }
.search { position: relative; margin: .5rem 0 !important } .search label { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
.search kbd { position: absolute; right: .75rem; top: .7rem; font: .8rem ui-monospace, monospace; color: var(--quiet) } .search input:focus ~ kbd { display: none }
.content { padding: 0 1.25rem 4rem; min-width: 0 }
.part { padding: 2.5rem 0 1rem; border-bottom: 1px solid var(--line) } .part:last-child { border: 0 }
.operation { padding: 2rem 0 1rem } .part > .operation:not(:first-child) { border-top: 1px solid var(--line) }
.path { margin: 0 0 1rem; overflow-wrap: anywhere } .path code { font-size: .875rem }
.method { display: inline-block; margin-right: .35rem; padding: .05rem .45rem; border: 1px solid currentcolor; border-radius: .35rem; font: 700 .75rem/1.5 ui-monospace, monospace }
.get { color: var(--get) } .post { color: var(--post) } .put { color: var(--put) } .patch { color: var(--patch) } .delete { color: var(--delete) }

.fields { margin: 0; padding: 0; list-style: none } .fields > li { padding: .7rem 0; border-top: 1px solid var(--line) } .fields > li:first-child { border-top: 0 }
.fields p { margin: .15rem 0 0; font-size: .9rem } .fields .fields { margin: .6rem 0 0; padding-left: .9rem; border-left: 2px solid var(--line) }
.name { font-weight: 600; font-size: .875rem; overflow-wrap: anywhere } .type { color: var(--quiet); font-size: .8125rem } .tag { color: var(--quiet); font-size: .75rem; white-space: nowrap } .must { color: var(--delete) }
.form { margin: 1rem 0 0; font-weight: 600 } .form::first-letter { text-transform: uppercase }
table { width: 100%; border-collapse: collapse; font-size: .9rem; margin: 0 0 1rem } th, td { padding: .45rem .6rem .45rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top } td:first-child code { white-space: nowrap }

.code { margin: 0 0 1rem; border: 1px solid var(--code-line); border-radius: .6rem; background: var(--code); color: var(--code-ink); overflow: hidden; min-width: 0 }
.code figcaption { position: relative; display: flex; flex-wrap: wrap; align-items: center; gap: .15rem .75rem; padding: .45rem 4.5rem .45rem .9rem; border-bottom: 1px solid var(--code-line); font-size: .8125rem; color: var(--code-quiet) }
.code pre { margin: 0; padding: .8rem .9rem; max-height: 30rem; overflow: auto; white-space: pre; border: 0; background: none } .code :focus-visible { outline-color: #8fb4ff; outline-offset: -3px }
::highlight(string) { color: #a5e8b5 } ::highlight(number) { color: #f5c98a } ::highlight(word) { color: #c9b3ff } ::highlight(comment) { color: #94a3bd }
.status { color: #a5e8b5 }
.code [role=radiogroup] { display: flex; gap: .1rem } .code label { margin: 0; padding: .1rem .5rem; border-radius: .35rem; font-weight: 400; font-size: .8125rem; cursor: pointer }
.code label:has(:checked) { background: var(--code-line); color: #fff; font-weight: 600 } .code label:has(:focus-visible) { outline: 2px solid #8fb4ff }
.code input { position: absolute; opacity: 0; width: 1px; height: 1px; min-height: 0 }
.samples pre { display: none } .samples:has([value=curl]:checked) [data-lang=curl], .samples:has([value=TypeScript]:checked) [data-lang=TypeScript], .samples:has([value=Python]:checked) [data-lang=Python] { display: block }
.copy { position: absolute; top: .4rem; right: .5rem; min-height: 0; padding: .1rem .5rem; border-radius: .35rem; background: none; color: inherit; font-size: .75rem; font-weight: 400 } .copy:hover { background: var(--code-line); color: #fff }

label { display: block; font-weight: 600; margin-bottom: .25rem } label .quiet { font-weight: 400 }
input, textarea { width: 100%; padding: .5rem .75rem; border: 1px solid var(--quiet); border-radius: .5rem; background: var(--card); color: var(--ink) } input { font: inherit; min-height: 2.75rem }
.key { margin-top: 1.5rem; padding: 1rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--ground) } .key p { margin: .5rem 0 0; font-size: .875rem }
details { border: 1px solid var(--line); border-radius: .6rem; padding: 0 .9rem; margin: 1rem 0 0 } details[open] { padding-bottom: .9rem } summary { padding: .6rem 0; cursor: pointer; font-weight: 600 } summary .quiet { font-weight: 400; font-size: .8125rem }
.try pre { margin: .75rem 0 0; padding: .75rem; max-height: 24rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--ground); border: 1px solid var(--line); border-radius: .5rem }
@media (max-width: 599px) { td:first-child code { white-space: normal } }
@media (max-width: 999px) { .side ul:not(.guide) { display: none } .side.searching ul { display: block } .side .group { display: inline-block; margin-right: .75rem } .side .guide { display: flex; flex-wrap: wrap; gap: 0 .75rem; margin: 0 } .side a { margin: 0; padding: .35rem 0 } .side.searching .group { display: block } .searching .guide { display: block !important } }
@media (max-width: 999px) and (scripting: enabled) {
  :root { scroll-padding-top: 4rem }
  .side { position: sticky; top: 0; z-index: 1; max-height: 100vh; overflow-y: auto; padding: .5rem 1.25rem }
  .menu { display: block } .side:not(.open) #contents { display: none } .side.open :is(ul, .group, .guide) { display: block }
  .side.open a { padding: .45rem 0 }
}
@media (min-width: 1000px) {
  body { border-top: 0 }
  .docs { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 110rem; margin: auto }
  .side { position: sticky; top: 0; height: 100vh; overflow-y: auto; border-right: 1px solid var(--line); border-bottom: 0 }
  .content { padding: 0 2.5rem 4rem }
}
@media (max-width: 1149px) { .pair > div + div { margin-top: 1.25rem } }
@media (min-width: 1150px) {
  .pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 2.5rem; align-items: start } .short { position: sticky; top: 1.5rem }
}
@media print {
  :root { --code: #fff; --code-line: #d0d7de; --code-ink: #1b1f24; --code-quiet: #57606a }
  .side, .copy, .key, .try, [role=radiogroup] { display: none !important }
  .docs { display: block } .content { padding: 0 } .code { break-inside: avoid-page }
  .code pre { max-height: none; white-space: pre-wrap; overflow-wrap: anywhere }
  ::highlight(string), .status { color: #116329 } ::highlight(number) { color: #953800 } ::highlight(word) { color: #6639ba } ::highlight(comment) { color: #57606a }
}
`
