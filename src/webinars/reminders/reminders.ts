export { remindDue, runReminders } from './due.ts'
export { cancelReminders, firstReminderAt } from './schedule.ts'
