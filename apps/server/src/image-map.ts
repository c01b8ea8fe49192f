/** The map cannot be used; the message names every wrong entry. */
export class ImageMapError extends Error {
  override readonly name = 'ImageMapError'
}

/**
 * What takes the place of an image: `from=to`, with commas or lines between, or the same as a JSON object. `from` is a
 * reference of the catalogue (`postgres:18`), or ends in `/*` and stands for all below it (`docker.io/*=mirror.test/*`); a
 * reference is looked up as it is written and in full (`docker.io/library/postgres:18`). An exact entry wins, then the
 * longest prefix.
 */
export function imageMapOf(text: string): (reference: string) => string {
  const pairs = pairsOf(text)
  const faults = pairs.flatMap(([from, to]) => faultsOf(from, to))
  const doubles = pairs.filter(([from], index) => pairs.findIndex(([other]) => other === from) !== index)
  faults.push(...doubles.map(([from]) => `"${from}" stands there twice`))
  if (faults.length > 0) throw new ImageMapError(`${faults.join('; ')}.`)

  const exact = new Map(pairs.filter(([from]) => !isPrefix(from)))
  const prefixes = pairs
    .filter(([from]) => isPrefix(from))
    .map(([from, to]) => ({ from: from.slice(0, -1), to: to.slice(0, -1) }))
    .sort((a, b) => b.from.length - a.from.length)
  return (reference) => {
    const names = [reference, inFull(reference)]
    for (const name of names) {
      const to = exact.get(name)
      if (to !== undefined) return to
    }
    for (const { from, to } of prefixes) {
      const name = names.find((candidate) => candidate.startsWith(from))
      if (name !== undefined) return to + name.slice(from.length)
    }
    return reference
  }
}

/** The same map as a list of `from=to`. */
export function imageMapEntries(text: string): readonly string[] {
  return pairsOf(text).map(([from, to]) => `${from}=${to}`)
}

/** As Docker reads it: without a registry it is Docker Hub's, without a folder one of its official images. */
function inFull(reference: string): string {
  const [first = '', ...rest] = reference.split('/')
  if (rest.length === 0) return `docker.io/library/${reference}`
  return /[.:]/.test(first) || first === 'localhost' ? reference : `docker.io/${reference}`
}

function pairsOf(text: string): (readonly [from: string, to: string])[] {
  if (text.trimStart().startsWith('{')) return pairsOfJson(text)
  return text
    .split(/[,\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry) => {
      const cut = entry.indexOf('=')
      return cut < 0 ? ([entry, ''] as const) : ([entry.slice(0, cut).trim(), entry.slice(cut + 1).trim()] as const)
    })
}

function pairsOfJson(text: string): (readonly [from: string, to: string])[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ImageMapError(`it is not valid JSON: ${(error as Error).message}.`)
  }
  return Object.entries(value as object).map(([from, to]) => [from, typeof to === 'string' ? to : ''])
}

function faultsOf(from: string, to: string): string[] {
  if (to === '')
    return [`"${from}" says not what takes its place: write ${from === '' ? 'from' : from}=other/image:tag`]
  if (isPrefix(from) !== isPrefix(to)) return [`"${from}=${to}": both sides end in "/*", or none`]
  return [from, to].flatMap((side) =>
    referencePattern.test(isPrefix(side) ? side.slice(0, -2) : side) ? [] : [`"${side}" is not the name of an image`],
  )
}

const isPrefix = (side: string) => side.endsWith('/*')
const referencePattern = /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,498}$/
