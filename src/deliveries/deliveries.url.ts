import { parseCidrs } from '../net/addresses.ts'
import { checkWebhookUrl } from '../net/webhook-url.ts'
import type { App } from '../store/work.ts'

/**
 * A URL that deliveries may go to, as it was written where it was written plainly: what a client posts is what it reads. Throws
 * Problem `invalid` for one that is not public (docs/reference/events.md#public-urls). Looks its name up.
 */
export const publicUrl = async ({ config, resolver }: App, url: string): Promise<string> => {
  const { href } = await checkWebhookUrl(url, { resolver, allow: parseCidrs(config.allowPrivateWebhooks.join(',')) })
  return /^[\x21-\x7e]+$/.test(url) ? url : href
}
