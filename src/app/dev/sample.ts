import type { Page } from '../../pages/page.ts'
import { harbourPng } from './picture.ts'

export const picturePath = '/sample/harbour.png'

/** Returns the URL of the sample project's picture, which `samplePages` serve. */
export const pictureUrl = (publicUrl: string): string => new URL(picturePath, publicUrl).href

/** A page that only `svc dev` serves: the picture of the sample project. */
export const samplePages: readonly Page[] = [
  { method: 'GET', path: picturePath, handle: async () => ({ type: 'image/png', content: harbourPng }) },
]
