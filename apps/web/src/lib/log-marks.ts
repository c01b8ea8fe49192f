export interface MarkedText {
  readonly text: string
  readonly hit: boolean
}
/** Cuts a line into what was searched for and the rest. */
export type Marks = (text: string) => readonly MarkedText[]

export function marksOf(wanted: string, regex: boolean): Marks | null {
  if (wanted === '') return null
  if (!regex) return (text) => cutAt(text, wanted)
  try {
    const pattern = new RegExp(wanted, 'i')
    return (text) => cutAtMatch(text, pattern)
  } catch {
    // The service says what is wrong with it.
    return null
  }
}

/** A text cut at every place where it contains `wanted`, whatever the case. */
export function cutAt(text: string, wanted: string): readonly MarkedText[] {
  const parts: MarkedText[] = []
  const lower = text.toLowerCase()
  const target = wanted.toLowerCase()
  let from = 0
  for (let at = lower.indexOf(target); at !== -1; at = lower.indexOf(target, from)) {
    if (at > from) parts.push({ text: text.slice(from, at), hit: false })
    parts.push({ text: text.slice(at, at + target.length), hit: true })
    from = at + target.length
  }
  if (from < text.length) parts.push({ text: text.slice(from), hit: false })
  return parts
}

/** The first place only: the service found it in that time, so the page does too, however costly the expression is. */
function cutAtMatch(text: string, pattern: RegExp): readonly MarkedText[] {
  const found = pattern.exec(text)
  if (found === null || found[0] === '') return [{ text, hit: false }]
  const end = found.index + found[0].length
  return [
    { text: text.slice(0, found.index), hit: false },
    { text: found[0], hit: true },
    { text: text.slice(end), hit: false },
  ].filter((part) => part.text !== '')
}
