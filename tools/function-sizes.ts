/** A function whose body has more than one line. */
export interface FunctionSize {
  /** Empty where it has none: an argument of a call. */
  readonly name: string
  /** Of the line that opens its body; the first is 1. */
  readonly line: number
  /** From that line to the one that closes the body, both counted. */
  readonly lines: number
}

/**
 * Functions by the shape that the formatter gives them: the body is closed by the first line that begins as far to the left as
 * the line that opened it. Only a template text can look like that from inside; the function then seems shorter than it is.
 */
export function functionSizes(text: string): readonly FunctionSize[] {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    if (!opensBody(lines, index)) return []
    const depth = depthOf(line)
    const end = lines.findIndex((each, at) => at > index && each !== '' && depthOf(each) <= depth)
    let last = end === -1 ? lines.length - 1 : end
    // A body in brackets ends with that line, an expression on lines of its own before it.
    if (line.endsWith('=>')) last -= 1
    while (lines[last] === '') last -= 1
    return [{ name: nameOf(lines, index), line: index + 1, lines: last - index + 1 }]
  })
}

function opensBody(lines: readonly string[], index: number): boolean {
  const line = lines[index]!
  if (/^\s*(\*|\/\/|\/\*)/.test(line)) return false
  if (/=>( [({[]+)?$/.test(line)) return !isType(lines, index)
  if (!line.endsWith(' {') || line.endsWith(': {')) return false
  const header = lines[headerOf(lines, index)]!.trimStart()
  if (/^(}? ?else\b|if|for|while|switch|catch|with|do|try|class|interface|export (default )?class)\b/.test(header))
    return false
  return /\bfunction\b/.test(header) || isMethod(header)
}

/** `name(`, with what may stand before it. */
function isMethod(header: string): boolean {
  return /^((static|async|get|set|override) )*(\*|#)?(\[[^\]]+\]|[\w$]+)(<.*>)?\(/.test(header)
}

/** `readonly run: (value: string) => {` in a type is followed by fields rather than by statements: such types are rare and short. */
function isType(lines: readonly string[], index: number): boolean {
  return /^(export )?(type|interface)\b|^readonly\b/.test(lines[headerOf(lines, index)]!.trimStart())
}

/** The line where the function begins: parameters on lines of their own end with `) {` below it. */
function headerOf(lines: readonly string[], index: number): number {
  const line = lines[index]!
  let header = index
  while (header > 0 && /^[)}\]]/.test(lines[header]!.trimStart())) {
    header -= 1
    while (header > 0 && (lines[header] === '' || depthOf(lines[header]!) > depthOf(line))) header -= 1
  }
  return header
}

const names = [
  /\bfunction\*? ([\w$]+)/,
  /\b(?:const|let) ([\w$]+)\b[^=]*=/,
  /^(?:(?:readonly|static|async|get|set|override|\*) ?)*(#?[\w$]+)[<(:]/,
]

function nameOf(lines: readonly string[], index: number): string {
  const header = lines[headerOf(lines, index)]!.trimStart()
  for (const name of names) {
    const found = name.exec(header)?.[1]
    if (found !== undefined) return found
  }
  return ''
}

function depthOf(line: string): number {
  return line.length - line.trimStart().length
}
