import type { Video } from '../lib/video.ts'
import { type Html, html } from './html.ts'

/** The style of pages that show a `videoPlayer` (`PageView.style`). */
export const videoStyle = `
.video { margin: 0 0 1.5rem }
.video iframe, .video video {
  display: block;
  width: 100%;
  aspect-ratio: 16 / 9;
  border: 0;
  border-radius: .5rem;
  background: #000
}
`

/** Returns the player of a video. `PageView.loads` of the page must have the video's kind and origin. */
export const videoPlayer = ({ kind, src }: Video, title: string): Html => {
  // YouTube refuses to play without a referrer.
  const player =
    kind === 'frame'
      ? html`<iframe src="${src}" title="${title}" loading="lazy" referrerpolicy="strict-origin-when-cross-origin"
  allow="fullscreen; picture-in-picture; encrypted-media"></iframe>`
      : html`<video src="${src}" aria-label="${title}" controls preload="metadata" playsinline></video>`
  return html`<div class="video">${player}</div>`
}
