import type { Term } from '../segments/segments.ts'

/** The term for when programs reported that an address did something. */
export const terms: readonly Term[] = [
  {
    name: 'event.',
    kind: 'time',
    parameter: 'name',
    rows: ({ account, parameter, bind }) => ({
      from: 'activities e',
      where: `e.account_id = ${account} and e.name = ${bind(parameter)}::text`,
      email: 'e.email',
      value: 'e.at',
    }),
  },
]
