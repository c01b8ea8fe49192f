import type { Notes } from './notes.ts'

/** What of a dump's language a reader must know to find where statements end, and what becomes of them. */
export interface Dialect {
  /** Strings in quotes have escapes with backslashes. */
  readonly hasEscapes: boolean
  /** `$tag$ … $tag$`, `E'…'`, parentheses around several statements, bodies of functions without quotes, comments inside comments. */
  readonly isStandard: boolean
  /** `#` begins a comment, `/*!` one that is carried out, and `DELIMITER` changes what ends a statement. */
  readonly isMysql: boolean
  /** First words, upper case, of statements that are looked at. All others go on at once. */
  readonly looksAt: ReadonlySet<string>
  /** `text`: the statement with its end, or its beginning when it is very long. */
  decide(text: string, line: number, notes: Notes): Decision
  /** A command of the client, up to the end of its line. None is carried out. */
  command(text: string, line: number, notes: Notes): void
  /** Of a dump whose first bytes match, what its last must match, and what to call that. */
  readonly frames: readonly { readonly begins: RegExp; readonly ends: RegExp; readonly shown: string }[]
  /** Comments that are left out without a word. */
  readonly skips: readonly RegExp[]
  /** Why the whole cannot come in, once it was read. */
  blocker(): string | null
  /** Behind the last statement. */
  readonly ending: string
}

/** `data`: it goes on, and lines of data follow it up to `\.`. `escapes`: it goes on, and from now on strings have escapes. */
export type Decision = 'pass' | 'drop' | 'data' | 'escapes' | { readonly text: string }
