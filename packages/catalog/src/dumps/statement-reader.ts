import { DumpError, type DumpNote, type DumpReader } from '../dump-method.ts'
import { isSpace, isWord, newlines, upTo } from './bytes.ts'
import type { Dialect } from './dialect.ts'
import { createNotes } from './notes.ts'

/** What the reader is in the middle of. */
type Lexeme =
  | { readonly in: 'code' | 'line' | 'data' | 'command' }
  | { readonly in: 'comment'; readonly depth: number }
  | { readonly in: 'quote'; readonly quote: number; readonly escapes: boolean }
  | { readonly in: 'dollar'; readonly tag: Buffer }

/** Of a statement: none; its beginning, kept until it is decided; the rest of it. */
type Phase = 'between' | 'head' | 'pass' | 'drop'

/** The longest thing that is looked at in one piece: a delimiter, the tag of a quote, a word. */
const lookahead = 256
/** A beginning that is longer is decided as it is. */
const mostHead = 256 * 1024
const frameBytes = 1024
const byteOrderMark = Uint8Array.of(0xef, 0xbb, 0xbf)

const code: Lexeme = { in: 'code' }

/**
 * Reads statements without keeping them: of each the beginning, as long as it must be known, and where it ends. What is left out leaves
 * its line ends, so that a program that complains of a line names the one of the dump.
 */
export class StatementReader implements DumpReader {
  private readonly dialect: Dialect
  private readonly found = createNotes()
  private out: Buffer[] = []
  private carry: Buffer = Buffer.alloc(0)
  private first: Buffer = Buffer.alloc(0)
  private last: Buffer = Buffer.alloc(0)
  private lexeme: Lexeme = code
  private phase: Phase = 'between'
  private head: Buffer[] = []
  private headBytes = 0
  private line = 1
  private startLine = 1
  private words: string[] = []
  private parentheses = 0
  private blocks = 0
  private delimiter = Buffer.from(';')
  private escapes: boolean

  constructor(dialect: Dialect) {
    this.dialect = dialect
    this.escapes = dialect.hasEscapes
  }

  read(sent: Buffer): readonly Buffer[] {
    // A mark of UTF-8 in front of all is no letter of the first word.
    const chunk = this.first.length === 0 && sent.subarray(0, 3).equals(byteOrderMark) ? sent.subarray(3) : sent
    this.frame(chunk)
    const bytes = this.carry.length === 0 ? chunk : Buffer.concat([this.carry, chunk])
    const end = this.scan(bytes, bytes.length - lookahead)
    this.carry = Buffer.from(bytes.subarray(end))
    return this.taken()
  }

  end(): readonly Buffer[] {
    // A line end more, and zeroes so that nothing is looked at behind the end.
    const bytes = Buffer.concat([this.carry, Buffer.from('\n'), Buffer.alloc(lookahead)])
    this.scan(bytes, this.carry.length + 1)
    this.refuseCut()
    if (this.phase === 'head') this.decide()
    const blocker = this.dialect.blocker()
    if (blocker !== null) throw new DumpError(blocker)
    this.out.push(Buffer.from(this.dialect.ending))
    return this.taken()
  }

  notes(): readonly DumpNote[] {
    return this.found.all()
  }

  private taken(): readonly Buffer[] {
    const { out } = this
    this.out = []
    return out
  }

  private frame(chunk: Buffer): void {
    if (this.first.length < frameBytes) this.first = Buffer.concat([this.first, chunk.subarray(0, frameBytes)])
    this.last = Buffer.from(Buffer.concat([this.last, chunk.subarray(-frameBytes)]).subarray(-frameBytes))
  }

  private refuseCut(): void {
    const inside = { quote: 'a text', dollar: 'a text', data: 'the data of a table', comment: 'a comment' } as const
    const at = this.lexeme.in
    if (at in inside) throw new DumpError(`The dump ends inside ${inside[at as keyof typeof inside]}: it was cut off.`)
    const frame = this.dialect.frames.find(({ begins }) => begins.test(this.first.toString('latin1')))
    if (frame !== undefined && !frame.ends.test(this.last.toString('latin1')))
      throw new DumpError(`The dump does not end with "${frame.shown}": it was cut off.`)
  }

  /** Up to `limit`, or a little further. Answers how far. */
  private scan(bytes: Buffer, limit: number): number {
    let at = 0
    let from = 0
    while (at < limit) {
      switch (this.lexeme.in) {
        case 'code': {
          const next = this.readCode(bytes, at, from, limit)
          at = next.at
          from = next.from
          break
        }
        case 'command': {
          at = upTo(bytes, 10, at, limit)
          from = at
          if (bytes[at] === 10) this.lexeme = code
          break
        }
        default:
          at = this.readInside(bytes, at, limit)
      }
    }
    this.emit(bytes.subarray(from, at))
    return at
  }

  /** Comments, quotes and data: only where they end matters. */
  private readInside(bytes: Buffer, at: number, limit: number): number {
    const { lexeme } = this
    switch (lexeme.in) {
      case 'line': {
        const end = upTo(bytes, 10, at, limit)
        if (bytes[end] === 10) this.lexeme = code
        return end
      }
      case 'data':
        return this.readData(bytes, at, limit)
      case 'dollar': {
        const end = bytes.indexOf(lexeme.tag, at)
        const to = end === -1 || end >= limit ? limit : end + lexeme.tag.length
        if (to !== limit || end === limit - lexeme.tag.length) this.lexeme = code
        this.line += newlines(bytes, at, to)
        return to
      }
      case 'quote':
        return this.readQuote(bytes, at, limit, lexeme)
      case 'comment':
        return this.readComment(bytes, at, limit, lexeme)
      default:
        return at
    }
  }

  private readData(bytes: Buffer, at: number, limit: number): number {
    const found = bytes.indexOf('\n\\.', at)
    if (found === -1 || found >= limit) {
      this.line += newlines(bytes, at, limit)
      return limit
    }
    const behind = bytes[found + 3] === 13 ? found + 4 : found + 3
    const isEnd = bytes[behind] === 10 || bytes[behind] === 0
    if (isEnd) this.lexeme = code
    // The line end in front stays to be looked at when another `\.` could follow it; the one behind is code.
    const to = isEnd ? behind : found + 1
    this.line += newlines(bytes, at, to)
    return to
  }

  private readQuote(bytes: Buffer, from: number, limit: number, { quote, escapes }: Lexeme & { in: 'quote' }): number {
    let at = from
    while (at < limit) {
      const byte = bytes[at]
      if (byte === 10) this.line += 1
      if (escapes && byte === 92) {
        if (bytes[at + 1] === 10) this.line += 1
        at += 2
      } else if (byte !== quote) at += 1
      else if (bytes[at + 1] === quote) at += 2
      else {
        this.lexeme = code
        return at + 1
      }
    }
    return at
  }

  private readComment(bytes: Buffer, from: number, limit: number, { depth }: Lexeme & { in: 'comment' }): number {
    for (let at = from; at < limit; at += 1) {
      const byte = bytes[at]
      if (byte === 10) this.line += 1
      else if (byte === 42 && bytes[at + 1] === 47) {
        this.lexeme = depth === 1 ? code : { in: 'comment', depth: depth - 1 }
        return at + 2
      } else if (this.dialect.isStandard && byte === 47 && bytes[at + 1] === 42) {
        this.lexeme = { in: 'comment', depth: depth + 1 }
        return at + 2
      }
    }
    return limit
  }

  /** Up to where something else than code begins. */
  private readCode(bytes: Buffer, begin: number, begun: number, limit: number): { at: number; from: number } {
    const { isStandard, isMysql } = this.dialect
    let at = begin
    let from = begun
    while (at < limit) {
      const byte = bytes[at]!
      if (byte === 10) this.line += 1
      if (isSpace(byte)) {
        at += 1
        continue
      }
      const comment = this.commentAt(bytes, at)
      if (comment !== null) {
        if (comment.skips > 0) {
          this.emit(bytes.subarray(from, at))
          from = at + comment.skips
          return { at: from, from }
        }
        this.lexeme = comment.lexeme
        return { at: at + comment.length, from }
      }
      if (byte === 92) {
        this.emit(bytes.subarray(from, at))
        this.dialect.command(lineAt(bytes, at), this.line, this.found)
        this.lexeme = { in: 'command' }
        return { at, from: at }
      }
      if (this.phase === 'between') {
        this.emit(bytes.subarray(from, at))
        from = at
        this.begin()
      }
      if (isMysql && byte === 47 && bytes[at + 1] === 42) {
        // `/*!40101` or `/*M!100100`: what is inside is carried out.
        at += 2
        while (bytes[at] === 77 || bytes[at] === 33 || (bytes[at]! >= 48 && bytes[at]! <= 57)) at += 1
      } else if (isMysql && byte === 42 && bytes[at + 1] === 47) at += 2
      else if (isWord(byte)) {
        const next = this.readWord(bytes, at, from)
        at = next.at
        from = next.from
        if (this.lexeme !== code) return { at, from }
      } else if (byte === 39 || byte === 34 || (isMysql && byte === 96)) {
        this.lexeme = { in: 'quote', quote: byte, escapes: this.escapes && byte !== 96 && !(isStandard && byte === 34) }
        return { at: at + 1, from }
      } else if (isStandard && byte === 36) {
        const tag = tagAt(bytes, at)
        if (tag === null) at += 1
        else {
          this.lexeme = { in: 'dollar', tag }
          return { at: at + tag.length, from }
        }
      } else if (this.isEnd(bytes, at)) {
        at += this.delimiter.length
        this.emit(bytes.subarray(from, at))
        from = at
        this.finish()
        if (this.lexeme !== code) return { at, from }
      } else {
        if (isStandard && byte === 40) this.parentheses += 1
        if (isStandard && byte === 41) this.parentheses -= 1
        at += 1
      }
    }
    return { at, from }
  }

  private commentAt(bytes: Buffer, at: number): { lexeme: Lexeme; length: number; skips: number } | null {
    const [byte, next, third] = [bytes[at], bytes[at + 1], bytes[at + 2]]
    const line = { lexeme: { in: 'line' }, length: 1, skips: 0 } as const
    if (byte === 45 && next === 45 && (!this.dialect.isMysql || third === undefined || third <= 32)) return line
    if (this.dialect.isMysql && byte === 35) return line
    if (byte !== 47 || next !== 42) return null
    if (this.phase === 'between') {
      const text = bytes.toString('latin1', at, at + lookahead)
      for (const skip of this.dialect.skips) {
        const length = skip.exec(text)?.[0].length
        if (length !== undefined) return { ...line, skips: length }
      }
    }
    if (this.dialect.isMysql && (third === 33 || (third === 77 && bytes[at + 3] === 33))) return null
    return { lexeme: { in: 'comment', depth: 1 }, length: 2, skips: 0 }
  }

  private begin(): void {
    this.phase = 'head'
    this.startLine = this.line
    this.words = []
    this.parentheses = 0
    this.blocks = 0
  }

  private readWord(bytes: Buffer, start: number, from: number): { at: number; from: number } {
    let at = start + 1
    const most = start + lookahead - 8
    while (at < most && (isWord(bytes[at]!) || bytes[at] === 36)) at += 1
    const isFirst = this.words.length === 0
    if (!isFirst && this.words[0] !== 'CREATE' && !this.dialect.isStandard) return { at, from }
    if (this.dialect.isStandard && at === start + 1 && (bytes[start]! | 32) === 101 && bytes[at] === 39) {
      this.lexeme = { in: 'quote', quote: 39, escapes: true }
      return { at: at + 1, from }
    }
    if (!isFirst && this.words[0] !== 'CREATE') return { at, from }
    const word = bytes.toString('latin1', start, at).toUpperCase()
    if (this.words.length < 4) this.words.push(word)
    if (isFirst) return this.readFirst(bytes, word, at, from)
    this.countBlocks(word)
    return { at, from }
  }

  private readFirst(bytes: Buffer, word: string, at: number, from: number): { at: number; from: number } {
    if (this.dialect.isMysql && word === 'DELIMITER') {
      const line = lineAt(bytes, at)
      this.delimiter = Buffer.from(/\S{1,16}/.exec(line)?.[0] ?? ';', 'latin1')
      this.phase = 'pass'
      const end = at + line.length
      this.emit(bytes.subarray(from, end))
      this.phase = 'between'
      return { at: end, from: end }
    }
    if (!this.dialect.looksAt.has(word)) this.go('pass')
    return { at, from }
  }

  /** Inside the body of a function that is no text, ";" ends no statement. */
  private countBlocks(word: string): void {
    if (!this.dialect.isStandard || this.parentheses !== 0) return
    const [, second, third, fourth] = this.words
    const what = second === 'OR' && third === 'REPLACE' ? fourth : second
    if (what !== 'FUNCTION' && what !== 'PROCEDURE') return
    if (word === 'BEGIN' || (word === 'CASE' && this.blocks > 0)) this.blocks += 1
    if (word === 'END' && this.blocks > 0) this.blocks -= 1
  }

  private isEnd(bytes: Buffer, at: number): boolean {
    const { delimiter } = this
    if (bytes[at] !== delimiter[0] || this.parentheses > 0 || this.blocks > 0) return false
    return delimiter.length === 1 || bytes.subarray(at, at + delimiter.length).equals(delimiter)
  }

  private finish(): void {
    if (this.phase === 'head') this.decide()
    this.phase = 'between'
  }

  private decide(): void {
    const text = Buffer.concat(this.head).toString('latin1')
    const decision = this.dialect.decide(text, this.startLine, this.found)
    if (decision === 'data') this.lexeme = { in: 'data' }
    if (decision === 'escapes') this.escapes = true
    if (typeof decision === 'object') this.head = [Buffer.from(decision.text, 'latin1')]
    this.go(decision === 'drop' ? 'drop' : 'pass')
  }

  /** What was kept of the statement goes where the rest of it goes. */
  private go(phase: 'pass' | 'drop'): void {
    const { head } = this
    this.head = []
    this.headBytes = 0
    this.phase = phase
    for (const piece of head) this.emit(piece)
  }

  private emit(piece: Buffer): void {
    if (piece.length === 0) return
    if (this.phase === 'head') {
      this.head.push(piece)
      this.headBytes += piece.length
      if (this.headBytes > mostHead) this.decide()
    } else if (this.phase === 'drop') this.out.push(Buffer.alloc(newlines(piece, 0, piece.length), 10))
    else this.out.push(piece)
  }
}

function lineAt(bytes: Buffer, at: number): string {
  const text = bytes.toString('latin1', at, at + lookahead - 1)
  return /^[^\r\n\0]*/.exec(text)?.[0] ?? ''
}

function tagAt(bytes: Buffer, at: number): Buffer | null {
  const found = /^\$(?:[A-Za-z_\x80-\xff][\w\x80-\xff]*)?\$/.exec(bytes.toString('latin1', at, at + 128))
  return found === null ? null : Buffer.from(found[0], 'latin1')
}
