/** A run of text with one look. `color` is one of the eight terminal colours, bright ones included. */
export interface TextRun {
  readonly text: string
  readonly color: number | null
  readonly bold: boolean
  readonly dim: boolean
}

const controls =
  /\u001b\[([0-9;:?]*)([A-Za-z])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f]/g

/** Text without terminal control sequences. */
export function plainText(text: string): string {
  return text.includes('\u001b') || /[\u0000-\u001f\u007f]/.test(text) ? text.replace(controls, '') : text
}

/** Colours and weight of a log line; every other control sequence is dropped. */
export function runsOf(text: string): readonly TextRun[] {
  if (!text.includes('\u001b')) return [{ text: plainText(text), color: null, bold: false, dim: false }]
  const runs: TextRun[] = []
  let style = { color: null as number | null, bold: false, dim: false }
  let from = 0
  for (const match of text.matchAll(controls)) {
    if (match.index > from) runs.push({ text: text.slice(from, match.index), ...style })
    from = match.index + match[0].length
    if (match[2] === 'm') style = styled(style, match[1] ?? '')
  }
  if (from < text.length) runs.push({ text: text.slice(from), ...style })
  return runs
}

function styled(style: { color: number | null; bold: boolean; dim: boolean }, parameters: string) {
  let next = style
  const codes = parameters.split(/[;:]/).map(Number)
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0
    if (code === 0) next = { color: null, bold: false, dim: false }
    else if (code === 1) next = { ...next, bold: true }
    else if (code === 2) next = { ...next, dim: true }
    else if (code === 22) next = { ...next, bold: false, dim: false }
    else if (code >= 30 && code <= 37) next = { ...next, color: code - 30 }
    else if (code >= 90 && code <= 97) next = { ...next, color: code - 90 }
    else if (code === 39) next = { ...next, color: null }
    // 256 and true colours carry their own numbers, which must not be read as codes.
    else if (code === 38 || code === 48) index += codes[index + 1] === 5 ? 2 : 4
  }
  return next
}
