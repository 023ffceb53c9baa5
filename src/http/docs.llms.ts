import { eventTypes, firesWhen } from '../events/events.ts'
import { eventId } from './docs.guide.ts'
import { resourcesOf, shortPath } from './docs.view.ts'
import type { OpenApi } from './openapi.ts'

/** Returns the documentation as an index for language models (llmstxt.org): Markdown, a line for each route and event. */
export const llmsText = (document: OpenApi): string => {
  const base = document.servers[0]!.url
  const [about, rules] = document.info.description.split('\n\n')
  const docs = (id: string) => `${base}/docs#${id}`
  const resources = resourcesOf(document).map(
    ({ name, description, operations }) => `## ${name}

${description}

${operations
  .map(({ method, path, operationId, summary }) => {
    const route = `${method.toUpperCase()} ${shortPath(path)}`
    return `- [${route}](${docs(operationId)}): ${summary}`
  })
  .join('\n')}
`,
  )
  return `# ${document.info.title} API

> ${about!.replaceAll('\n', ' ')}

- Paths below are relative to ${base}/api/v1. Send a key with each call: \`Authorization: Bearer svc_live_…\`
- ${rules!.replaceAll('\n', ' ')}

## Contract

- [OpenAPI 3.1](${base}/openapi.json): each route, property, default and event, with examples
- [Documentation](${base}/docs): the same to read, with samples in curl, TypeScript and Python
- [Authentication](${docs('authentication')}), [errors](${docs('errors')}), [idempotency](${docs('idempotency')}), [paging](${docs('paging')}), [rate limits](${docs('rate-limits')})

${resources.join('\n')}
## Events

Signed webhooks, one for each event: [verify them](${docs('verify')}).

${eventTypes.map((type) => `- [${type}](${docs(eventId(type))}): ${firesWhen[type]}`).join('\n')}
`
}
