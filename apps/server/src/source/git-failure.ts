import { ProblemError } from '@stackquay/contract'

export const diskFull = /No space left on device|Disk quota exceeded/i

/** The end of what a program wrote, however much that is. */
export function lastLines() {
  const lines: string[] = []
  return {
    add: (line: string): void => {
      if (line.trim() === '') return
      lines.push(line.slice(0, 2000))
      if (lines.length > 200) lines.splice(0, 100)
    },
    have: (pattern: RegExp): boolean => lines.some((line) => pattern.test(line)),
    tail: (): readonly string[] => lines.slice(-20),
    /** git’s fatal and error lines, without its prefix words. */
    reason: (): string => {
      const named = lines.filter((line) => /^(fatal|error|remote):/.test(line)).slice(-20)
      return (named.length > 0 ? named : lines.slice(-2)).map((line) => line.replace(/^(fatal|error): /, '')).join(' ')
    },
  }
}

export type LastLines = ReturnType<typeof lastLines>

export function failureOf(what: string, words: LastLines, hint = 'See the last lines of its output.'): ProblemError {
  const full = words.have(diskFull)
  return new ProblemError(full ? 'disk_full' : 'source_failed', `${what}: ${words.reason()}`, {
    hint: full ? 'Free some space and try again.' : hint,
    extensions: { logTail: words.tail() },
  })
}
