import { allAccounts } from '../accounts/accounts.rows.ts'
import { daysBefore } from '../lib/days.ts'
import { defineJob } from '../store/background.ts'
import { purgeOf } from '../store/purge.ts'

/** Deletes old events that were reported. Their idempotency keys stay. */
export const purgeActivities = purgeOf('activities', 'act', allAccounts)

export const jobs = [
  defineJob('reported events', {
    does: 'Deletes events of POST /events after SVC_MESSAGE_RETENTION_DAYS',
    async runFor(app, sweep) {
      const { messageRetentionDays } = app.config
      if (messageRetentionDays === 0) return
      await purgeActivities(app, daysBefore(app.now(), messageRetentionDays), sweep)
    },
  }),
]
