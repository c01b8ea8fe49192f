import type { DumpNote } from '../dump-method.ts'

export interface Notes {
  add(kind: DumpNote['kind'], text: string, line: number): void
  all(): readonly DumpNote[]
}

/** Of each text the count and the first lines, however often it comes; of a dump that has more to say, what was left out last is only counted. */
export function createNotes(): Notes {
  const found = new Map<string, { kind: DumpNote['kind']; text: string; count: number; lines: number[] }>()
  return {
    add(kind, text, line) {
      const shown = shorten(text)
      const known = found.get(`${kind} ${shown}`)
      const key = known !== undefined || found.size < mostTexts ? `${kind} ${shown}` : `${kind} …`
      const note = found.get(key) ?? { kind, text: key.endsWith(' …') ? 'others' : shown, count: 0, lines: [] }
      note.count += 1
      if (note.lines.length < mostLines) note.lines.push(line)
      found.set(key, note)
    },
    all: () => [...found.values()].map((note) => ({ ...note, lines: [...note.lines] })),
  }
}

const mostTexts = 40
const mostLines = 20
const mostLetters = 120

/** One line without what steers terminals. Bytes come one to a letter, and are UTF-8 in every dump of today. */
function shorten(text: string): string {
  const line = Buffer.from(text, 'latin1')
    .toString('utf8')
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
  return line.length <= mostLetters ? line : `${line.slice(0, mostLetters - 1)}…`
}
