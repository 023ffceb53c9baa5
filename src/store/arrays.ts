/**
 * Returns SQL for an array whose length the planner can't see. A prepared statement that is given few rows needs it as the first
 * argument of its `unnest`: if the planner sees a short array, it plans each execution again. Without it GET /contacts took 910
 * instead of 687 µs of PostgreSQL (bench `lookup`, 2026-11-22), and the insertion of two messages 1,010 instead of 560 µs (bench
 * `send`, 2026-11-24).
 */
export const opaqueArray = (parameter: string, type = 'text'): string => `(select ${parameter}::${type}[])`
