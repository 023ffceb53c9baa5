export { remindDue, runReminders } from './due.ts'
export { cancelReminders, firstReminderAt, reminderKey } from './schedule.ts'
