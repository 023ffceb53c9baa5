/** The channel of the jobs that run journeys. */
export const journeysChannel = 'svc_journeys'
