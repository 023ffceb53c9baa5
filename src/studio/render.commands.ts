import { command } from '../cli/define.ts'
import { argument, present, repeated, text } from '../cli/flags.ts'
import { readData } from '../cli/input.ts'
import { openFile, temporaryFile } from '../cli/open-file.ts'
import { printable } from '../cli/output.ts'
import { noSuch, Problem } from '../lib/problem.ts'

const write = async (file: string, content: string): Promise<void> => {
  const { writeFile } = await import('node:fs/promises')
  try {
    await writeFile(file, content)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    throw code === 'ENOENT' ? noSuch('folder for', file) : new Problem('usage', `${file} can't be written (${code})`)
  }
}

/** The command `svc projects render`. */
export const renderCommand = command({
  path: 'projects render',
  summary: 'Render a project and print the email as HTML; signed links are placeholders',
  examples: [
    'svc projects render Welcome --data name=Ada --open',
    'svc projects render Welcome --data @fields.json --out welcome.html',
  ],
  arguments: [argument('<project>', 'id or name')],
  flags: {
    data: repeated('<name=value|@file>', 'merge data: a field and its value, or a JSON file (repeatable)'),
    text: present('print the text part instead'),
    out: text('<file>', 'write the email to a file'),
    open: present('open the email in the browser'),
  },
  run: async ({ account, app, out, work }, ref, flags) => {
    const mergeData = await readData(flags.data)
    const { findProject, previewLinks, renderProject } = await import('./studio.ts')
    const { id, version } = await work((w) => findProject(w, ref))
    const accountId = (await account()).id
    const mail = await renderProject(app, {
      accountId,
      id,
      version,
      mergeData,
      links: previewLinks,
      nowMs: app.now().getTime(),
    })
    const content = flags.text ? mail.text : mail.html
    const file = flags.out ?? (flags.open ? await temporaryFile(flags.text ? 'mail.txt' : 'mail.html') : undefined)
    if (file !== undefined) await write(file, content)
    if (flags.open) await openFile(file!)
    if (file !== undefined) out.one({ id, version, subject: mail.subject, file })
    else if (out.isJson) out.one({ id, version, ...mail })
    else if (out.format === 'ids') out.line(id)
    else for (const line of content.trimEnd().split('\n')) out.line(printable(line))
  },
})
