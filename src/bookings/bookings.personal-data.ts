import { statement } from '../store/statement.ts'
import type { PersonalDataPart } from '../store/work.ts'
import { type BookingRow, bookingColumns, bookingTypes, viewBooking } from './bookings.view.ts'

const readBookingsOf = statement<BookingRow>(
  'bookings-of-address',
  bookingTypes,
  `select ${bookingColumns} from bookings where account_id = $1 and email = $2 order by id`,
)

/** The bookings of an address, in the export of its personal data. */
export const personalData: PersonalDataPart = {
  name: 'bookings',
  async read({ sql, accountId }, email) {
    return (await sql(readBookingsOf, [accountId, email])).map(viewBooking)
  },
}
