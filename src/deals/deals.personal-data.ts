import { addressPattern } from '../lib/erased.ts'
import { statement } from '../store/statement.ts'
import type { PersonalDataPart } from '../store/work.ts'
import { dealColumns, dealTypes, viewDeal } from './deals.shapes.ts'

const readDeals = statement(
  'deals-of-email',
  { row: dealTypes, parameters: { accountId: 'text', email: 'text', pattern: 'text' } },
  `select ${dealColumns} from deals d where d.account_id = :accountId and (d.email = :email or d.title ~* :pattern) order by d.id`,
)

/** The deals of an address, and those whose title names it. */
export const personalData: PersonalDataPart = {
  name: 'deals',
  async read({ sql, accountId }, email) {
    const rows = await sql(readDeals, { accountId, email, pattern: addressPattern(email) })
    return rows.map(viewDeal)
  },
}
