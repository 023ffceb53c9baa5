import { statement } from '../../store/statement.ts'
import type { App, Work } from '../../store/work.ts'
import { linksOf } from '../emails/emails.ts'

/** A registration in the terminal. Times in epoch ms. */
export interface RegistrationView {
  id: string
  email: string
  name: string
  status: 'confirmed' | 'waitlisted' | 'cancelled'
  /** null if the registration has no seat. */
  joinUrl: string | null
  createdAt: number
  updatedAt: number
}

type Row = Omit<RegistrationView, 'joinUrl' | 'createdAt' | 'updatedAt'> & { createdAt: Date; updatedAt: Date }

interface RegistrationFilter {
  id?: string | undefined
  status?: RegistrationView['status'] | undefined
}

const readMatching = statement<Row>(
  'list-registrations',
  {
    id: 'text',
    email: 'text',
    name: 'text',
    status: 'text',
    createdAt: 'timestamptz',
    updatedAt: 'timestamptz',
  },
  `select id, email, name, status, created_at as "createdAt", updated_at as "updatedAt" from webinar_registrations
   where account_id = $1 and webinar_id = $2 and ($3::text is null or id = $3) and ($4::text is null or status = $4)
   order by number`,
)

/** Returns the matching registrations of a webinar, oldest first. */
export const listRegistrations = async (
  app: Pick<App, 'config' | 'tokens'>,
  { sql, accountId }: Work,
  webinarId: string,
  { id, status }: RegistrationFilter = {},
): Promise<RegistrationView[]> => {
  const rows = await sql(readMatching, [accountId, webinarId, id ?? null, status ?? null])
  return rows.map(({ createdAt, updatedAt, ...row }) => ({
    ...row,
    joinUrl: row.status === 'confirmed' ? linksOf(app, accountId, row.id).join : null,
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
  }))
}
