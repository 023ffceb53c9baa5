import type { Page } from '../pages/page.ts'
import { harbourPng } from './dev.picture.ts'

export const picturePath = '/sample/harbour.png'

/** Where the picture of the sample project is, at a daemon with `samplePages`. */
export const pictureUrl = (publicUrl: string): string => new URL(picturePath, publicUrl).href

/** What the daemon of `svc dev` has beside the pages of the features: the picture that its sample project shows. */
export const samplePages: readonly Page[] = [
  { method: 'GET', path: picturePath, handle: async () => ({ type: 'image/png', content: harbourPng }) },
]
