export { timeScript } from './time.script.ts'
export { aboutView, calendarFile, countdown, eventOf, sessionStyle, whenView } from './webinar.views.ts'
