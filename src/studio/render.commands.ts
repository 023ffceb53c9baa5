import type { Command } from 'commander'
import { type Cli, examples, gather } from '../cli/command.ts'
import { readData } from '../cli/input.ts'
import { openFile, temporaryFile } from '../cli/open-file.ts'
import { printable } from '../cli/output.ts'
import { noSuch, Problem } from '../lib/problem.ts'

interface RenderFlags {
  data: string[]
  text?: boolean
  open?: boolean
  out?: string
}

const write = async (file: string, content: string): Promise<void> => {
  const { writeFile } = await import('node:fs/promises')
  try {
    await writeFile(file, content)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    throw code === 'ENOENT' ? noSuch('folder for', file) : new Problem('usage', `${file} can't be written (${code})`)
  }
}

/** `svc projects render` */
export const addRender = (noun: Command, cli: Cli): void => {
  noun
    .command('render')
    .description('Render a project and print the email as HTML; signed links are placeholders')
    .addHelpText(
      'after',
      examples(
        'svc projects render Welcome --data name=Ada --open',
        'svc projects render Welcome --data @fields.json --out welcome.html',
      ),
    )
    .argument('<project>', 'id or name')
    .option('--data <name=value|@file>', 'merge data: a field and its value, or a JSON file (repeatable)', gather, [])
    .option('--text', 'print the text part instead')
    .option('--out <file>', 'write the email to a file')
    .option('--open', 'open the email in the browser')
    .action(
      cli.run(async ({ account, app, out, work }, ref: string, flags: RenderFlags) => {
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
        else if (out.format === 'json' || out.format === 'jsonl') out.one({ id, version, ...mail })
        else if (out.format === 'ids') out.line(id)
        else for (const line of content.trimEnd().split('\n')) out.line(printable(line))
      }),
    )
}
