import type { Projects } from '../../src/messages/messages.ts'

export interface Rendering {
  accountId: string
  id: string
  version: number
  mergeData: Record<string, string>
  links: { unsubscribe: string | null }
}

/** A minimal project file. */
export const plainProject = (name: string) => ({
  name,
  theme: {},
  blocks: [{ id: 'hello', type: 'text', props: { text: 'Hello {{ name }}' } }],
})

/** Projects by `<account> <id>` with a minimal rendering, which records the arguments of each rendering. */
export const plainProjects = () => {
  const known = new Map<string, { name: string; version: number }>()
  const renderings: Rendering[] = []
  const projects: Projects = {
    async loadProject({ accountId }, id) {
      const found = known.get(`${accountId} ${id}`)
      return found ? { id, ...found } : null
    },
    async renderProject(_app, rendering) {
      renderings.push(rendering)
      const text = `version ${rendering.version} for ${rendering.mergeData.name ?? 'nobody'}`
      return { html: `<p>${text}</p>`, text }
    },
  }
  return {
    projects,
    renderings,
    add: (accountId: string, id: string, name: string, version = 1) =>
      void known.set(`${accountId} ${id}`, { name, version }),
    remove: (accountId: string, id: string) => void known.delete(`${accountId} ${id}`),
  }
}
