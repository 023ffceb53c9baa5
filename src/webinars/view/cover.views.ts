import { cover, coverStyle } from '../../pages/cover.ts'
import type { Html } from '../../pages/html.ts'
import { ownPath } from '../../pages/page.ts'
import type { App } from '../../store/work.ts'
import { type CoverRow, coverPath } from '../sessions/sessions.cover.ts'

/** Returns the cover of a webinar, its style, and the URL of its image, which is null for a drawing. */
export const coverLook = (
  app: App,
  { accountId, id, coverHash, coverWidth: width, coverHeight: height }: CoverRow & { accountId: string; id: string },
): { cover: Html; style: string; url: string | null } => {
  const image =
    coverHash === null
      ? null
      : {
          path: coverPath(accountId, id, coverHash),
          size: width !== null && height !== null ? { width, height } : null,
        }
  return {
    cover: cover(image, ownPath(app, '')),
    style: coverStyle(id, image),
    url: image && `${app.config.publicUrl}${image.path}`,
  }
}
