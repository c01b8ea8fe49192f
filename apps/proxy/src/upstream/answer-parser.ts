import { AnswerError, type AnswerHead, type Framing, parseAnswerHead, parseTrailers } from './answer-head.ts'

/** Gets an answer chunk by chunk. */
export interface AnswerSink {
  onInformation(head: AnswerHead): void
  /** `framing` and `length` are those of the body that follows. */
  onHead(head: AnswerHead, framing: Framing, length: number): void
  /** The bytes from `start` to `end` are there for the length of this call only. */
  onBody(bytes: Buffer, start: number, end: number): void
  onEnd(trailers: readonly string[]): void
}

/** The project agreed to another protocol; `early` are its first bytes in it. */
export type OnSwitch = (head: AnswerHead, early: Buffer) => void

export interface AnswerLimits {
  readonly answerHeadBytes: number
  readonly interimAnswers: number
  readonly chunkExtensionBytes: number
}

type Step = 'head' | 'length' | 'close' | 'size' | 'chunk' | 'chunk-end' | 'trailers' | 'done'

/**
 * Reads the answers of one connection, one after the other, however the bytes are cut. Throws AnswerError at the first byte
 * that cannot be right; from then on the connection is of no use.
 */
export class AnswerParser {
  readonly #limits: AnswerLimits
  #sink: AnswerSink | null = null
  #method = 'GET'
  #onSwitch: OnSwitch | null = null
  #step: Step = 'done'
  /** The beginning of a head or line that is not there completely; `#heldLength` bytes of it count. */
  #held: Buffer = empty
  #heldLength = 0
  #left = 0
  #interim = 0
  #extensions = 0
  #reusable = false
  #idleFor = -1

  constructor(limits: AnswerLimits) {
    this.#limits = limits
  }

  /** The next bytes are the answer to this request; without `onSwitch` a change of protocol is an error. */
  expect(sink: AnswerSink, method: string, onSwitch: OnSwitch | null = null): void {
    this.#sink = sink
    this.#method = method
    this.#onSwitch = onSwitch
    this.#step = 'head'
    this.#heldLength = 0
    this.#interim = 0
    this.#extensions = 0
    this.#reusable = false
    this.#idleFor = -1
  }

  /** The reader has left. */
  drop(): void {
    this.#sink = null
    this.#step = 'done'
  }

  get isDone(): boolean {
    return this.#step === 'done'
  }

  /** Interim answers do not count. */
  get hasHead(): boolean {
    return this.#step !== 'head'
  }

  /** After the end of an answer: whether the next request may go onto the same connection. */
  get isReusable(): boolean {
    return this.#reusable
  }

  get idleFor(): number {
    return this.#idleFor
  }

  feed(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      switch (this.#step) {
        case 'head':
          at = this.#readHead(bytes, at)
          break
        case 'length':
        case 'chunk':
          at = this.#readCounted(bytes, at)
          break
        case 'close':
          this.#sink!.onBody(bytes, at, bytes.length)
          return
        case 'size':
          at = this.#readSize(bytes, at)
          break
        case 'chunk-end':
          at = this.#readChunkEnd(bytes, at)
          break
        case 'trailers':
          at = this.#readTrailers(bytes, at)
          break
        case 'done':
          // More than was asked for: no request matches it.
          this.#reusable = false
          return
        default:
          this.#step satisfies never
      }
    }
  }

  /** The project has closed the connection. Throws when its answer is not complete. */
  end(): void {
    if (this.#step === 'close') this.#finish([])
    else if (this.#step !== 'done')
      throw new AnswerError('The project closed the connection before its answer was complete.')
    this.#reusable = false
  }

  #readHead(bytes: Buffer, at: number): number {
    const from = this.#block(bytes, at, headEnd, this.#limits.answerHeadBytes)
    if (from === -1) return bytes.length
    const isHeld = this.#heldLength > 0
    const source = isHeld ? this.#held : bytes
    const head = parseAnswerHead(source, isHeld ? 0 : at, isHeld ? this.#heldLength : from)
    this.#heldLength = 0
    this.#takeHead(head, bytes, from)
    return from
  }

  #takeHead(head: AnswerHead, bytes: Buffer, from: number): void {
    const { status } = head
    if (status === 101) {
      if (this.#onSwitch === null) throw new AnswerError('It changes the protocol without having been asked to.')
      this.drop()
      this.#onSwitch(head, bytes.subarray(from))
      return
    }
    if (status < 200) {
      if (head.framing === 'chunked' || head.length > 0) throw new AnswerError('An interim answer has a body.')
      this.#interim += 1
      if (this.#interim > this.#limits.interimAnswers) throw new AnswerError('It has too many interim answers.')
      this.#sink!.onInformation(head)
      return
    }
    this.#idleFor = head.idleFor
    const isEmpty = this.#method === 'HEAD' || status === 204 || status === 304 || head.length === 0
    // Some programs send a body with 204 all the same.
    const isDoubtful = status === 204 && head.framing !== 'close' && head.length !== 0
    const framing = isEmpty ? 'none' : head.framing
    this.#reusable = head.keepAlive && framing !== 'close' && !isDoubtful
    this.#left = head.length
    this.#step = framing === 'none' ? 'done' : framing === 'chunked' ? 'size' : framing
    this.#sink!.onHead(head, framing, framing === 'length' ? head.length : -1)
    if (framing === 'none') this.#finish([])
  }

  #readCounted(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    const isChunk = this.#step === 'chunk'
    if (this.#left === 0 && isChunk) this.#step = 'chunk-end'
    this.#sink?.onBody(bytes, at, end)
    if (this.#left === 0 && !isChunk) this.#finish([])
    return end
  }

  #readSize(bytes: Buffer, at: number): number {
    const from = this.#block(bytes, at, lineEnd, this.#limits.chunkExtensionBytes + longestSize)
    if (from === -1) return bytes.length
    const isHeld = this.#heldLength > 0
    const line = isHeld
      ? this.#held.toString('latin1', 0, this.#heldLength - 2)
      : bytes.toString('latin1', at, from - 2)
    this.#heldLength = 0
    const digits = chunkLine.exec(line)?.[1]
    if (digits === undefined) throw new AnswerError('A chunk does not begin with its size.')
    this.#extensions += line.length - digits.length
    if (this.#extensions > this.#limits.chunkExtensionBytes) throw new AnswerError('Its chunk extensions are too long.')
    this.#left = Number.parseInt(digits, 16)
    this.#step = this.#left === 0 ? 'trailers' : 'chunk'
    return from
  }

  #readChunkEnd(bytes: Buffer, at: number): number {
    const from = this.#block(bytes, at, lineEnd, 2)
    if (from === -1) return bytes.length
    this.#heldLength = 0
    this.#step = 'size'
    return from
  }

  #readTrailers(bytes: Buffer, at: number): number {
    // Without trailers the empty line comes at once.
    if (this.#heldLength === 0 && bytes.length - at >= 2 && bytes[at] === 0x0d && bytes[at + 1] === 0x0a) {
      this.#finish([])
      return at + 2
    }
    if (this.#heldLength === 1 && this.#held[0] === 0x0d && bytes[at] === 0x0a) {
      this.#heldLength = 0
      this.#finish([])
      return at + 1
    }
    const from = this.#block(bytes, at, headEnd, this.#limits.answerHeadBytes)
    if (from === -1) return bytes.length
    const isHeld = this.#heldLength > 0
    const trailers = isHeld ? parseTrailers(this.#held, 0, this.#heldLength) : parseTrailers(bytes, at, from)
    this.#heldLength = 0
    this.#finish(trailers)
    return from
  }

  #finish(trailers: readonly string[]): void {
    this.#step = 'done'
    // A long head is seldom; its memory need not stay with a connection that does.
    if (this.#held.length > 4_096) this.#held = empty
    const sink = this.#sink
    this.#sink = null
    sink?.onEnd(trailers)
  }

  /**
   * Where the block that ends with `mark` is over, or -1 when the rest of it is still to come. When its beginning came
   * earlier, all of it is in `#held` afterwards.
   */
  #block(bytes: Buffer, at: number, mark: Buffer, most: number): number {
    if (this.#heldLength === 0) {
      const found = bytes.indexOf(mark, at)
      if (found !== -1) {
        if (found + mark.length - at > most) throw new AnswerError('A part of its head is too long.')
        return found + mark.length
      }
      this.#hold(bytes, at, bytes.length, most)
      return -1
    }
    const before = this.#heldLength
    const end = Math.min(bytes.length, at + most - before + 1)
    this.#hold(bytes, at, end, most + 1)
    const found = this.#held.subarray(0, this.#heldLength).indexOf(mark, Math.max(0, before - mark.length + 1))
    if (found === -1) {
      if (this.#heldLength > most) throw new AnswerError('A part of its head is too long.')
      return -1
    }
    const length = found + mark.length
    if (length > most) throw new AnswerError('A part of its head is too long.')
    this.#heldLength = length
    return at + length - before
  }

  #hold(bytes: Buffer, at: number, end: number, most: number): void {
    const length = this.#heldLength + end - at
    if (length > most) throw new AnswerError('A part of its head is too long.')
    if (this.#held.length < length) {
      const larger = Buffer.allocUnsafe(Math.max(256, length * 2))
      this.#held.copy(larger, 0, 0, this.#heldLength)
      this.#held = larger
    }
    bytes.copy(this.#held, this.#heldLength, at, end)
    this.#heldLength = length
  }
}

const empty = Buffer.alloc(0)
const headEnd = Buffer.from('\r\n\r\n')
const lineEnd = Buffer.from('\r\n')
/** Hexadecimal digits of the largest size that is counted exactly, and the end of the line. */
const longestSize = 15
/** RFC 9112, 7.1.1, without the space around it, which is forbidden today. */
const chunkLine =
  /^([0-9a-f]{1,13})(?:;[!#$%&'*+.^_`|~0-9a-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9a-z-]+|"(?:[\t \x21\x23-\x5b\x5d-\x7e]|\\[\t \x21-\x7e])*"))?)*$/i
