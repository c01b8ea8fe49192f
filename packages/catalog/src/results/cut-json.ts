import { UnreadableResults } from './case-result.ts'

/**
 * JSON of a runner that may have been killed while it wrote: when the text ends in the middle, the complete parts of it
 * is answered, with all brackets closed.
 */
export function parseCutJson(text: string): { readonly value: unknown; readonly cut: boolean } {
  const whole = isDeep(text) ? undefined : parsed(text)
  if (whole !== undefined) return { value: whole, cut: false }
  const { end, open } = completePart(text)
  const part = end === 0 ? undefined : parsed(text.slice(0, end) + open)
  if (part === undefined) throw new UnreadableResults('The results are not JSON.')
  return { value: part, cut: true }
}

/** No runner nests like this. Of what does, the parser would need thirty times its length in memory that no limit counts. */
function isDeep(text: string): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length && depth <= deepest; at++) {
    const char = text[at]
    if (inString) {
      if (char === '\\') at++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') depth--
  }
  return depth > deepest
}

const deepest = 1000

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Up to behind the last complete value, and the brackets that are open there. */
function completePart(text: string): { readonly end: number; readonly open: string } {
  const closers: string[] = []
  let end = 0
  let open = 0
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (inString) {
      if (char === '\\') at++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === '{' || char === '[') {
      closers[depth++] = char === '{' ? '}' : ']'
      if (char === '[') [end, open] = [at + 1, depth]
    } else if (char === '}' || char === ']') {
      if (depth === 0 || closers[depth - 1] !== char) break
      depth--
      ;[end, open] = [at + 1, depth]
    } else if (char === ',' && depth > 0) [end, open] = [at, depth]
    if (depth > deepest) break
  }
  return { end, open: closers.slice(0, open).reverse().join('') }
}
