import { type DefaultTreeAdapterTypes, defaultTreeAdapter, parse } from 'parse5'

/* The tree that parse5 makes of an email's HTML. An email may be nested deeply, so nothing here is recursive. */

type Node = DefaultTreeAdapterTypes.Node
export type Element = DefaultTreeAdapterTypes.Element

/** Far beyond real emails. The time of parse5 grows with the square of the depth: 5,000 levels take two seconds. */
const maxDepth = 500

/** Returns the document, or null if its elements are nested too deep to read it in a short time. */
export const parseMail = (html: string): Node | null => {
  let depth = 0
  const tooDeep = new Error('nested too deep')
  const treeAdapter = {
    ...defaultTreeAdapter,
    onItemPush: () => {
      depth++
      if (depth > maxDepth) throw tooDeep
    },
    onItemPop: () => {
      depth--
    },
  }
  try {
    return parse(html, { treeAdapter })
  } catch (error) {
    if (error === tooDeep) return null
    throw error
  }
}

/** Returns a node and all nodes inside it, in the order of the document. */
export const nodesOf = (root: Node): Node[] => {
  const found: Node[] = []
  const left = [root]
  for (let node = left.pop(); node; node = left.pop()) {
    found.push(node)
    if ('childNodes' in node) for (const child of node.childNodes.toReversed()) left.push(child)
  }
  return found
}

export const isElement = (node: Node): node is Element => 'tagName' in node

/** Returns the elements inside a node, in the order of the document. */
export const elementsOf = (root: Node): Element[] => nodesOf(root).filter(isElement)

/** Returns an attribute's value without its entities, or undefined if the element does not have it. */
export const attributeOf = (element: Element, name: string): string | undefined =>
  element.attrs.find((attribute) => attribute.name === name)?.value
