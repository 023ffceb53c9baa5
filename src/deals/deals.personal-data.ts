import type { PersonalDataPart } from '../store/work.ts'
import { type DealRow, dealColumns, viewDeal } from './deals.shapes.ts'

/** The deals of an address. */
export const personalData: PersonalDataPart = {
  name: 'deals',
  async read({ sql, accountId }, email) {
    const rows = await sql<DealRow>(
      `select ${dealColumns} from deals d where d.account_id = $1 and d.email = $2 order by d.id`,
      [accountId, email],
    )
    return rows.map(viewDeal)
  },
}
