import { text } from './text.ts'

/** A video as a page shows it. `origin` is the only other host that the page can load from. */
export interface Video {
  kind: 'frame' | 'media'
  src: string
  origin: string
}

const youtubeHosts = /^(?:(?:www|m|music)\.)?youtube\.com$|^(?:www\.)?youtube-nocookie\.com$/
const vimeoHosts = /^(?:www\.|player\.)?vimeo\.com$/

/** Returns the second at which a YouTube link begins, such as `90`, `90s` or `1m30s`, or 0. */
const startOf = ({ searchParams }: URL): number => {
  const given = searchParams.get('t') ?? searchParams.get('start') ?? ''
  const [, hours = 0, minutes = 0, seconds = 0] = /^(?:(\d{1,3})h)?(?:(\d{1,4})m)?(?:(\d{1,6})s?)?$/.exec(given) ?? []
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
}

const youtube = (url: URL, id: string | null | undefined): Video | null => {
  if (!/^[\w-]{11}$/.test(id ?? '')) return null
  const origin = 'https://www.youtube-nocookie.com'
  const start = startOf(url)
  return { kind: 'frame', src: `${origin}/embed/${id}${start > 0 ? `?start=${start}` : ''}`, origin }
}

const vimeo = (url: URL): Video | null => {
  const place = url.pathname.replace(/^\/(?:video|channels\/[\w-]+|groups\/[\w-]+\/videos)\//, '/')
  const path = /^\/(\d{1,15})(?:\/([\da-f]{1,40}))?\/?$/.exec(place)
  if (!path) return null
  const origin = 'https://player.vimeo.com'
  // Unlisted videos need their key.
  const key = path[2] ?? /^[\da-f]{1,40}$/.exec(url.searchParams.get('h') ?? '')?.[0]
  return { kind: 'frame', src: `${origin}/video/${path[1]}?${key === undefined ? '' : `h=${key}&`}dnt=1`, origin }
}

const file = (url: URL): Video | null =>
  // The host becomes part of a security policy, where "*" and ";" have a meaning.
  url.protocol === 'https:' &&
  /^(?:[a-z0-9._-]+|\[[\da-f:]+\])$/.test(url.hostname) &&
  url.username === '' &&
  url.password === '' &&
  /\.(?:mp4|m4v|webm|ogv|mov)$/i.test(url.pathname)
    ? { kind: 'media', src: url.href, origin: url.origin }
    : null

/** Returns the video at a URL: a YouTube or Vimeo video, or an https file. Returns null for everything else. */
export const videoOf = (text: string): Video | null => {
  const url = URL.parse(text)
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return null
  const [, first = '', second] = url.pathname.split('/')
  if (url.hostname === 'youtu.be') return youtube(url, first)
  if (youtubeHosts.test(url.hostname))
    return youtube(
      url,
      /^(?:embed|shorts|live|v)$/.test(first) ? second : first === 'watch' ? url.searchParams.get('v') : '',
    )
  if (vimeoHosts.test(url.hostname)) return vimeo(url)
  return file(url)
}

/** Schema of the URL of a video. An empty text means none. */
export const VideoUrl = text(2_000)
  .trim()
  .refine(
    (url) => url === '' || videoOf(url) !== null,
    'must be a video on YouTube or Vimeo, or the https address of a file (.mp4, .m4v, .webm, .ogv or .mov)',
  )
