import { statement } from '../store/statement.ts'
import type { PersonalDataPart } from '../store/work.ts'
import { bookingColumns, bookingTypes, viewBooking } from './bookings.view.ts'

const readBookingsOf = statement(
  'bookings-of-address',
  { row: bookingTypes, parameters: { accountId: 'text', email: 'text' } },
  `select ${bookingColumns} from bookings where account_id = :accountId and email = :email order by id`,
)

/** The bookings of an address, in the export of its personal data. */
export const personalData: PersonalDataPart = {
  name: 'bookings',
  async read({ sql, accountId }, email) {
    return (await sql(readBookingsOf, { accountId, email })).map(viewBooking)
  },
}
