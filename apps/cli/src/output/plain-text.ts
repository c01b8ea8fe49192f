/**
 * Escape sequences and control characters of others must not move our cursor, rename the window, or hide a line; nor may
 * characters that turn the direction of text around make a line read as another.
 */
const escapes =
  /[\u202a-\u202e\u2066-\u2069]|\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])|[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
const colour = /^\x1b\[[0-9;:]*m$/

/** Text of others for one line of a terminal. */
export function plainText(text: string): string {
  return text.replace(escapes, '').replace(/[\t\n]+/g, ' ')
}

/** Text of others with its lines: what controls a terminal goes, and can hide no more than the rest of its line. */
export function plainLines(text: string): string {
  return text
    .split(/\r\n|\n|\r(?!\n)/)
    .map((line) => line.replace(escapes, ''))
    .join('\n')
}

/** A log line: its colours stay where they can be shown, everything else that controls a terminal goes. */
export function logText(text: string, colours: boolean): string {
  if (!/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/.test(text)) return text
  const safe = text.replace(escapes, (sequence) => (colours && colour.test(sequence) ? sequence : ''))
  return safe.includes('\x1b[') ? `${safe}\x1b[0m` : safe
}

/** Columns a text takes on a terminal. */
export function widthOf(text: string): number {
  const visible = text.includes('\x1b') ? text.replace(escapes, '') : text
  if (/^[\x20-\x7e]*$/.test(visible)) return visible.length
  let width = 0
  for (const { segment } of new Intl.Segmenter().segment(visible)) width += isWide(segment) ? 2 : 1
  return width
}

/** At most so many columns; what is cut away leaves an ellipsis. For text without colours. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ''
  let used = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += isWide(segment) ? 2 : 1
    if (used > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

/** Lines of at most so many columns, broken between words; a longer word has a line of its own. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && widthOf(longer) > width) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return line === '' ? lines : [...lines, line]
}

function isWide(segment: string): boolean {
  return /^(?:\p{Emoji_Presentation}|.*\ufe0f|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])/u.test(
    segment,
  )
}
