/**
 * What was read last, kept in this process: at most `max` results, the one that was not asked for for longest goes. Who asks
 * while one is being read shares it; a failure is not kept.
 */
export const createRecent = <Value>(max: number, isKept: (value: Value) => boolean = () => true) => {
  const kept = new Map<string, Promise<Value>>()
  return (key: string, read: () => Promise<Value>): Promise<Value> => {
    const known = kept.get(key)
    const found = known ?? read()
    // Set anew, it is the last of the map.
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
