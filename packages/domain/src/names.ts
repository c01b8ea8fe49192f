/** Letters that carry their mark inside, which decomposition leaves whole. */
const plainLetters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  þ: 'th',
  ı: 'i',
}

/** The slug that a name becomes: `My Shop!` is `my-shop`. Empty when nothing of the name can stand in a slug. */
export function slugOf(name: string): string {
  return labelOf(name).slice(0, 40).replace(/-$/, '')
}

/** The same, however long it is. */
export function labelOf(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\u0000-\u007f]/gu, (letter) => plainLetters[letter] ?? letter)
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

/**
 * The known name a person most likely meant, for "did you mean". Undefined when nothing is near enough: one slip for
 * every three letters, at most three. Of equally near ones the first in `known` wins.
 */
export function nearestName(word: string, known: readonly string[]): string | undefined {
  const bound = Math.min(3, Math.max(1, Math.floor(word.length / 3)))
  const wanted = word.toLowerCase()
  let best: string | undefined
  let least = bound + 1
  for (const name of known) {
    if (Math.abs(name.length - word.length) >= least) continue
    const distance = slips(wanted, name.toLowerCase())
    // A word of which every letter would have to change is another word: `b` is not near `a`.
    if (distance < least && distance < name.length) {
      best = name
      least = distance
    }
  }
  return best
}

/** Damerau-Levenshtein distance (optimal string alignment): letters added, left out, changed, or two neighbours swapped. */
function slips(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1]
      let cost = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1))
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, beforeLast[column - 2]! + 1)
      }
      current.push(cost)
    }
    beforeLast = last
    last = current
  }
  return last[b.length]!
}
