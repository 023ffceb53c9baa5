import { statement } from '../../store/statement.ts'
import { columns } from '../../store/tables.ts'
import type { App, Work } from '../../store/work.ts'
import { linksOf } from '../emails/emails.ts'
import { webinarRegistrations } from '../webinars.columns.ts'

/** A registration as the terminal shows it. Its times are in epoch ms. */
export interface RegistrationView {
  id: string
  email: string
  name: string
  status: 'confirmed' | 'waitlisted' | 'cancelled'
  /** It is null if the registration has no seat. */
  joinUrl: string | null
  createdAt: number
  updatedAt: number
}

const shownColumns = columns(webinarRegistrations, ['id', 'email', 'name', 'status', 'createdAt', 'updatedAt'])

interface RegistrationFilter {
  id?: string | undefined
  status?: RegistrationView['status'] | undefined
}

const readMatching = statement(
  'list-registrations',
  {
    row: shownColumns.types,
    parameters: { accountId: 'text', webinarId: 'text', id: 'text?', status: 'text?' },
  },
  `select ${shownColumns.list} from webinar_registrations
   where account_id = :accountId and webinar_id = :webinarId and (:id::text is null or id = :id)
     and (:status::text is null or status = :status)
   order by number`,
)

/** Returns the matching registrations of a webinar, oldest first. */
export const listRegistrations = async (
  app: Pick<App, 'config' | 'tokens'>,
  { sql, accountId }: Work,
  webinarId: string,
  { id, status }: RegistrationFilter = {},
): Promise<RegistrationView[]> => {
  const rows = await sql(readMatching, { accountId, webinarId, id: id ?? null, status: status ?? null })
  return rows.map(({ createdAt, updatedAt, ...row }) => ({
    ...row,
    joinUrl: row.status === 'confirmed' ? linksOf(app, accountId, row.id).join : null,
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
  }))
}
