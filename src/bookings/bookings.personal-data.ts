import type { PersonalDataPart } from '../store/work.ts'
import { type BookingRow, bookingColumns, viewBooking } from './bookings.view.ts'

/** The bookings of an address, in the export of its personal data. */
export const personalData: PersonalDataPart = {
  name: 'bookings',
  async read({ sql, accountId }, email) {
    const rows = await sql<BookingRow>(
      `select ${bookingColumns} from bookings where account_id = $1 and email = $2 order by id`,
      [accountId, email],
    )
    return rows.map(viewBooking)
  },
}
