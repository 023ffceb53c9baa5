import { isOfKeys } from '../messages/messages.ts'
import type { Asked, Term } from '../segments/segments.ts'
import { scoreAt } from './engagement.score.ts'

/** Returns the SQL condition that an interaction belongs to an email of the scope. */
const inScope = ({ scope, bind }: Pick<Asked, 'scope' | 'bind'>): string => {
  if (!scope) return 'true'
  const isOfProject = `i.project_id = any(${bind(scope.projectIds)}::text[])`
  if (!scope.keys) return isOfProject
  return `${isOfProject} and ${isOfKeys({ account: 'i.account_id', id: 'i.message_id' }, bind(scope.keys))}`
}

/**
 * Returns the SQL from item of the texts of the latest answer of each address to a block, with `email` and `text`. The answer of
 * a form has a text for each field; a text that was dropped is empty.
 */
const latestAnswers = ({ account, parameter, bind, scope }: Asked): string =>
  `(select a.email, coalesce(t.text, '') as text from (
      select distinct on (i.email) i.email, i.value from interactions i
      where i.account_id = ${account} and i.block_id = ${bind(parameter)}::text and i.kind not in ('open', 'click') and not i.is_bot
        and ${inScope({ scope, bind })}
      order by i.email, i.at desc, i.id desc
    ) a cross join lateral (
      select a.value #>> '{}' as text where jsonb_typeof(a.value) is distinct from 'object'
      union all
      select value from jsonb_each_text(case when jsonb_typeof(a.value) = 'object' then a.value else '{}' end)
    ) t)`

/** Returns the term for when people interacted. A click or an answer also counts as an open, because pictures may be blocked. */
const interacted = (name: string, kinds: string): Term => ({
  name,
  kind: 'time',
  isScoped: true,
  rows: (asked) => ({
    from: 'interactions i',
    where: `i.account_id = ${asked.account} and not i.is_bot and ${kinds} and ${inScope(asked)}`,
    email: 'i.email',
    value: 'i.at',
  }),
})

/** The terms for what addresses did with their emails, and for their lead scores. */
export const terms: readonly Term[] = [
  interacted('opened', 'true'),
  interacted('clicked', `i.kind = 'click'`),
  interacted('answered', `i.kind not in ('open', 'click')`),
  {
    name: 'link',
    kind: 'text',
    rows: ({ account }) => ({
      from: 'interactions i',
      where: `i.account_id = ${account} and not i.is_bot and i.kind = 'click'`,
      email: 'i.email',
      value: `coalesce(i.value #>> '{}', '')`,
    }),
  },
  {
    name: 'answer.',
    kind: 'text',
    parameter: 'block',
    isScoped: true,
    rows: (asked) => ({ from: `${latestAnswers(asked)} i`, where: 'true', email: 'i.email', value: 'i.text' }),
  },
  {
    name: 'score',
    kind: 'number',
    missing: 0,
    rows: ({ account, now }) => ({
      from: 'lead_scores l',
      where: `l.account_id = ${account}`,
      email: 'l.email',
      value: scoreAt('l', now()),
    }),
  },
]
