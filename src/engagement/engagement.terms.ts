import { isOfKeys } from '../messages/messages.ts'
import type { Term } from '../segments/segments.ts'
import { scoreAt } from './interactions/interactions.ts'

/** Interactions of persons. `opened` has all kinds: a click or an answer counts as an open, whether or not the picture was loaded. */
const interacted = (name: string, kinds: string): Term => ({
  ...{ name, kind: 'time', isScoped: true },
  rows({ account, scope, bind }) {
    const inScope = scope
      ? [
          `i.project_id = any(${bind(scope.projectIds)}::text[])`,
          ...(scope.keys ? [isOfKeys({ account: 'i.account_id', id: 'i.message_id' }, bind(scope.keys))] : []),
        ]
      : []
    return {
      from: 'interactions i',
      where: [`i.account_id = ${account} and not i.is_bot and ${kinds}`, ...inScope].join(' and '),
      email: 'i.email',
      value: 'i.at',
    }
  },
})

/** What addresses did with their emails, and their lead scores. */
export const terms: readonly Term[] = [
  interacted('opened', 'true'),
  interacted('clicked', `i.kind = 'click'`),
  interacted('answered', `i.kind not in ('open', 'click')`),
  {
    ...{ name: 'score', kind: 'number', missing: 0 },
    rows: ({ account, now }) => ({
      from: 'lead_scores l',
      where: `l.account_id = ${account}`,
      email: 'l.email',
      value: scoreAt('l', now()),
    }),
  },
]
