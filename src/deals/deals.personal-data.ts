import { addressPattern } from '../lib/erased.ts'
import { statement } from '../store/statement.ts'
import type { PersonalDataPart } from '../store/work.ts'
import { type DealRow, dealColumns, dealTypes, viewDeal } from './deals.shapes.ts'

const readDeals = statement<DealRow>(
  'deals-of-email',
  dealTypes,
  `select ${dealColumns} from deals d where d.account_id = $1 and (d.email = $2 or d.title ~* $3) order by d.id`,
)

/** The deals of an address, and those whose title names it. */
export const personalData: PersonalDataPart = {
  name: 'deals',
  async read({ sql, accountId }, email) {
    const rows = await sql(readDeals, [accountId, email, addressPattern(email)])
    return rows.map(viewDeal)
  },
}
