export { type AppliedProject, applyProjects, deleteProject } from './studio.apply.ts'
export {
  type Block,
  type CheckoutItem,
  type Content,
  FormField,
  FormFields,
  type LeafBlock,
  type Theme,
} from './studio.blocks.ts'
export {
  findProject,
  listProjects,
  loadProject,
  loadVersion,
  type ProjectDetail,
  type ProjectView,
} from './studio.find.ts'
export { linkFields } from './studio.links.ts'
export { loadTemplate, type Rendering, renderProject, type VersionRef } from './studio.render.ts'
export { sampleProject } from './studio.sample.ts'
export { currencyDigits } from './studio.shapes.ts'
export { type Links, linksIn, type Mail, type MergeData } from './studio.template.ts'
export { type FullTheme, fontFamily, fullTheme, readableOn } from './studio.theme.ts'
export { fillUrl, type UrlKind, urlParts } from './studio.urls.ts'
export { bookingLine, priceLines, words } from './studio.words.ts'
