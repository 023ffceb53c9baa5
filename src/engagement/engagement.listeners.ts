import { insertEvents } from '../deliveries/deliveries.ts'
import type { EventData } from '../events/shapes.ts'
import type { Listener, Work } from '../store/work.ts'

// No shapes, no entities: the CLI and the jobs load their listeners before they know what they need.

interface Target {
  id: string
  projectId: string
}

const targets = new WeakMap<Work, Promise<Target[]>>()

const active = `from delivery_targets where account_id = $1 and kind = 'project' and status = 'active'`

const targetsIn = (work: Work): Promise<Target[]> =>
  targets.getOrInsertComputed(work, ({ sql, accountId }) =>
    sql<Target>(`select id, owner_id as "projectId" ${active}`, [accountId], 'project-targets'),
  )

/** Delivers interactions to the webhooks of their projects. */
export const deliverToProjects: Listener = {
  events: {
    wanted: `$2 = 'interaction.received' and exists (select ${active})`,
    async receive(work, events) {
      for (const event of events) {
        const { project } = event.data as EventData<'interaction.received'>
        const of = (await targetsIn(work)).filter(({ projectId }) => projectId === project.id)
        await insertEvents(
          work,
          [event],
          of.map(({ id }) => ({ id, events: [event.type] })),
        )
      }
    },
  },
}

/** What an erased address did stays counted, without who it was and what they wrote. */
export const forgetInteractions: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(
      `update interactions set email = '', value = case when kind = 'form' then 'null'::jsonb else value end
       where account_id = $1 and email = $2`,
      [accountId, email],
    )
    await sql('delete from lead_scores where account_id = $1 and email = $2', [accountId, email])
  },
}
