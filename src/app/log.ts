import { destination, type Logger, pino } from 'pino'

/** Logs are JSON lines on stderr: stdout is for data. Keys and bodies are never logged. */
export const createLogger = (level: string): Logger =>
  pino({ level, redact: ['req.headers.authorization'] }, destination({ fd: 2, sync: true }))
