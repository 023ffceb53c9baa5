import type { Term } from '../segments/segments.ts'
import { stageKinds } from './deals.shapes.ts'

const dealTerm = (name: string, value: string, kind: Pick<Term, 'kind' | 'values'>, from = 'deals d'): Term => ({
  name,
  ...kind,
  rows: ({ account }) => ({ from, where: `d.account_id = ${account}`, email: 'd.email', value }),
})

/** The deals of an address. */
export const terms: readonly Term[] = [
  dealTerm('deal.stage', 's.name', { kind: 'text' }, 'deals d join stages s on s.id = d.stage_id'),
  dealTerm('deal.status', 'd.status', { kind: 'text', values: stageKinds }),
  dealTerm('deal.value', 'd.value', { kind: 'number' }),
]
