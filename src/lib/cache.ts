/**
 * Creates a cache of at most `max` results in this process, which evicts the least recently used one. Concurrent callers of a key
 * share one read. Failures, and values for which `isKept` returns false, are not cached.
 */
export const createCache = <Value>(max: number, isKept: (value: Value) => boolean = () => true) => {
  const kept = new Map<string, Promise<Value>>()
  return (key: string, read: () => Promise<Value>): Promise<Value> => {
    const known = kept.get(key)
    const found = known ?? read()
    // Inserted again, the key becomes the map's last: the most recently used.
    kept.delete(key)
    kept.set(key, found)
    if (kept.size > max) kept.delete(kept.keys().next().value!)
    if (!known) {
      const forget = () => kept.get(key) === found && kept.delete(key)
      found.then((value) => isKept(value) || forget(), forget)
    }
    return found
  }
}
