import type { Links } from '../../src/studio/studio.ts'

/** Returns a project with these blocks; blocks without an id get `b0`, `b1` … */
export const projectOf = (blocks: readonly object[], rest: object = {}) => ({
  name: 'Project',
  blocks: blocks.map((block, i) => ({ id: `b${i}`, ...block })),
  ...rest,
})

/** Links whose URLs name their purpose. */
export const testLinks: Links = {
  view: 'https://svc.test/v/token?a=1&b=2',
  click: (url) => `https://svc.test/t/c/token?to=${encodeURIComponent(url)}`,
  answer: (blockId, value) => `https://svc.test/v/token?block=${blockId}&value=${encodeURIComponent(value)}`,
  honeypot: null,
  open: null,
  unsubscribe: null,
}
