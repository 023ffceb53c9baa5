import type { Listener } from '../store/work.ts'

/** Deletes an erased address from the membership, with its keys and progress. Its portal sessions end immediately. */
export const forgetMembers: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    const [member] = await sql<{ id: string }>(
      'delete from members where account_id = $1 and email = $2 returning id',
      [accountId, email],
    )
    if (!member) return
    for (const table of ['enrolments', 'finished_lessons', 'course_completions'])
      await sql(`delete from ${table} where account_id = $1 and member_id = $2`, [accountId, member.id])
  },
}
