/**
 * Returns the SQL from item of one row, which says whether the recipient of the message `id` of `account` opened, clicked and
 * answered it.
 */
export const actionsOn = (account: string, id: string): string => `(
  select count(*) > 0 as opened, count(*) filter (where kind = 'click') > 0 as clicked,
    count(*) filter (where kind not in ('open', 'click')) > 0 as answered
  from interactions where account_id = ${account} and message_id = ${id} and not is_bot
)`
