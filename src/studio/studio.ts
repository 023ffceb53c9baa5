/*
 * rich.ts is the CommonMark of texts; sanitize.ts and markup.ts are the HTML of authors.
 */

export { type AppliedProject, applyProjects, deleteProject, planDeletion } from './studio.apply.ts'
export {
  type Block,
  type CheckoutItem,
  type Content,
  FormField,
  FormFields,
  type LeafBlock,
} from './studio.blocks.ts'
export { shownBlocks } from './studio.conditions.ts'
export { darkGround, darkTheme } from './studio.dark.ts'
export {
  findProject,
  listProjects,
  loadProject,
  loadVersion,
  lockProject,
  type ProjectDetail,
  type ProjectView,
  projectNameOf,
} from './studio.find.ts'
export { compileMjml } from './studio.mjml.ts'
export { node } from './studio.nodes.ts'
export { headingLevels, leavesOf, linkFields } from './studio.outline.ts'
export { loadTemplate, type MarkupPage, markupHtml, markupPage, renderProject, textHtml } from './studio.render.ts'
export { sampleProject } from './studio.sample.ts'
export { currencyDigits } from './studio.shapes.ts'
export { type Links, linksIn, type Mail, numberLinks, previewLinks } from './studio.template.ts'
export { type FullTheme, fontFamily, fullTheme } from './studio.theme.ts'
export { fillUrl, type UrlKind, urlParts } from './studio.urls.ts'
export { bookingLine, priceLines, words } from './studio.words.ts'

declare module '../store/work.ts' {
  interface Listener {
    /** Counts what refers to a project and would lose it by its deletion. */
    projectUses?(work: Work, projectId: string): Promise<{ bindings?: number; broadcasts?: number }>
  }
}
