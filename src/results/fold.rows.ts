/** Whether there are changes to add up. */
export const hasChanges = `select true from message_result_changes order by account_id limit 1`
