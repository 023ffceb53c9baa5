import type { Node } from './studio.nodes.ts'

/**
 * Compiles MJML to HTML. MJML is loaded here, at the first call of a process, because loading takes 1 s and 90 MB that are not
 * freed.
 */
export const compileMjml = async (mail: Node): Promise<string> => {
  const { default: mjml2html } = await import('mjml')
  // No fonts: MJML would make the email load known ones from other hosts.
  const { html } = await mjml2html(mail, { fonts: {}, validationLevel: 'strict' })
  // Removes MJML's deep indentation, which has no effect in an email.
  return html.replace(/\n\s*/g, '\n')
}
