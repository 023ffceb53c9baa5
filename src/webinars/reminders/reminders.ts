export { remindDue, runReminders } from './reminders.due.ts'
export { cancelReminders, firstReminderAt, scheduleAll } from './reminders.schedule.ts'
