/**
 * An SQL expression: why an address gets no mail of a type, null where it does (decisions.md, Send). Of several reasons the
 * gravest is given. An address that the account has in no list at all is nobody's pending contact.
 */
export const suppressedReason = (account: string, email: string, type: string): string => `coalesce(
  (select s.reason from suppressions s where s.account_id = ${account} and s.email = ${email} and s.reason <> 'unsubscribed'
   order by array_position(array['complained', 'bounced', 'manual'], s.reason) limit 1),
  (select 'invalid' from addresses a
   where a.account_id = ${account} and a.email = ${email} and a.verification_status = 'invalid' limit 1),
  case when ${type} = 'marketing' then coalesce(
    (select s.reason from suppressions s
     where s.account_id = ${account} and s.email = ${email} and s.reason = 'unsubscribed' limit 1),
    (select 'pending' from contacts c where c.account_id = ${account} and c.row_id = (
       select a.row_id from addresses a where a.account_id = ${account} and a.email = ${email}
     ) having count(*) > 0 and count(*) filter (where c.status = 'active') = 0)
  ) end
)`
