type Contents = Readonly<Record<string, unknown>>

/** What is in data, in a few words: `2 roles, 12 tables`. Names of what is counted are those of the program that counted. */
export function contentsText(contents: Contents): string {
  const sums = new Map<string, number>()
  const add = (name: string, count: number) => sums.set(name, (sums.get(name) ?? 0) + count)
  const walk = (value: unknown, depth: number) => {
    if (!isObject(value) || depth > mostDepth) return
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner === 'number') add(name, inner)
      else if (Array.isArray(inner)) add(name, inner.length)
      else if (isObject(inner)) {
        if (isCollection(inner)) add(name, Object.keys(inner).length)
        walk(inner, depth + 1)
      }
    }
  }
  walk(contents, 0)
  const words = [...sums]
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count.toLocaleString('en')} ${name}`)
  return words.length === 0 ? 'nothing' : words.slice(0, mostWords).join(', ')
}

/** Where two counts of what should be the same differ; null where they do not. */
export function differenceOf(was: unknown, is: unknown, path: readonly string[] = []): string | null {
  if (JSON.stringify(was) === JSON.stringify(is)) return null
  if (isObject(was) && isObject(is)) {
    for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const found = differenceOf(was[name], is[name], [...path, name])
      if (found !== null) return found
    }
    return null
  }
  return `${path.join(' ')}: ${JSON.stringify(is) ?? 'missing'}, and ${JSON.stringify(was) ?? 'nothing'} when it was taken`
}

const mostDepth = 6
const mostWords = 8

/** Its names are those of what it holds, such as tables, and say nothing to be summed up. */
function isCollection(value: Contents): boolean {
  return Object.values(value).every(isObject)
}

function isObject(value: unknown): value is Contents {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
