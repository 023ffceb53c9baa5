import { invalid } from './problem.ts'

/** Decodes a part of a URL that a person typed. Throws Problem `invalid`. */
export const decodedPart = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid('url has a % that is not followed by two hex digits')
  }
}
