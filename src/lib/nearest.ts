/** Returns the edit distance: letters to change, add or remove. Two swapped neighbours count as one. */
const distance = (a: string, b: string): number => {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j]!, before[j - 2]! + 1)
    }
    ;[before, last] = [last, row]
  }
  return last[b.length]!
}

/** Longer texts are not mistyped names. */
const maxLength = 100

/** Returns the candidate that was probably meant: it differs in at most a third of its letters, ignoring case. */
export const nearest = (typed: string, candidates: readonly string[]): string | undefined => {
  if (typed.length > maxLength) return
  const text = typed.toLowerCase()
  const distanceTo = (candidate: string) => distance(text, candidate.toLowerCase())
  const [best] = candidates
    .filter((candidate) => candidate.length <= maxLength)
    .map((candidate) => ({ candidate, edits: distanceTo(candidate) }))
    .filter((one) => one.edits <= Math.max(1, Math.floor(Math.max(typed.length, one.candidate.length) / 3)))
    .sort((a, b) => a.edits - b.edits)
  return best?.candidate
}
