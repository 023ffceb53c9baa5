export { remindDue, runReminders } from './due.ts'
export { cancelReminders, firstReminderAt, scheduleAll } from './schedule.ts'
