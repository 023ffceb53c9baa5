import type { Links } from '../../src/studio/studio.ts'

/** A project that has these blocks, with the id `b0`, `b1` … for those that have none. */
export const projectOf = (blocks: readonly object[], rest: object = {}) => ({
  name: 'Project',
  blocks: blocks.map((block, i) => ({ id: `b${i}`, ...block })),
  ...rest,
})

/** Links that say what they are. */
export const testLinks: Links = {
  view: 'https://svc.test/v/token?a=1&b=2',
  click: (url) => `https://svc.test/t/c/token?to=${encodeURIComponent(url)}`,
  answer: (blockId, value) => `https://svc.test/v/token?block=${blockId}&value=${encodeURIComponent(value)}`,
  open: null,
  unsubscribe: null,
}
