/** The word that was probably meant; null when none is near. */
export function nearest(word: string, words: readonly string[]): string | null {
  const most = Math.max(1, Math.ceil(word.length / 3))
  const [best] = words
    .map((other) => ({ other, distance: distance(word.toLowerCase(), other.toLowerCase()) }))
    .filter((each) => each.distance <= most)
    .sort((a, b) => a.distance - b.distance)
  return best?.other ?? null
}

/** How many letters have to be added, taken away or replaced. */
function distance(a: string, b: string): number {
  let before = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const now = [row]
    for (let column = 1; column <= b.length; column++) {
      const replaced = before[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1)
      now.push(Math.min(replaced, before[column]! + 1, now[column - 1]! + 1))
    }
    before = now
  }
  return before[b.length]!
}
