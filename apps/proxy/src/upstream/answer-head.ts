/** How the end of an answer's body is known. */
export type Framing = 'none' | 'length' | 'chunked' | 'close'

/** The head of an answer, read strictly: what two programs could read in two ways is refused. */
export interface AnswerHead {
  readonly status: number
  readonly reason: string
  /** Flat list of names and values, in latin1, in the order and spelling of the project. */
  readonly headers: string[]
  /** As if it answered a GET: HEAD, 204 and the like are seen to by the parser. */
  readonly framing: Framing
  /** Bytes of the body, when `framing` is `length`. */
  readonly length: number
  /** HTTP/1.1 without `Connection: close`. */
  readonly keepAlive: boolean
  /** For how long the project promises to keep an idle connection, in ms; -1 when it does not say. */
  readonly idleFor: number
  readonly upgrade: string | undefined
}

/** The project's answer is no valid HTTP/1.1. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError'
}

/** Reads `bytes` up to `end`, which stands behind the empty line. RFC 9112, 4 to 6, without anything that is obsolete. */
export function parseAnswerHead(bytes: Buffer, start: number, end: number): AnswerHead {
  const text = bytes.toString('latin1', start, end)
  const isNew = readVersion(text)
  const status = readStatus(text)
  const reasonEnd = lineEnd(bytes, start, 12 + start)
  const reason = text.slice(13, reasonEnd - start)

  const headers: string[] = []
  let length = -1
  let chunked = false
  let keepAlive = isNew
  let idleFor = -1
  let upgrade: string | undefined
  let at = reasonEnd + 2
  while (at < end - 2) {
    at = readField(bytes, start, at, text, headers)
    const name = headers[headers.length - 2]!
    switch (name.length) {
      case 7:
        if (is(name, 'upgrade')) upgrade = headers[headers.length - 1]!
        break
      case 10:
        if (is(name, 'connection')) keepAlive &&= !namesClose(headers[headers.length - 1]!)
        else if (is(name, 'keep-alive')) idleFor = readIdle(headers[headers.length - 1]!)
        break
      case 14:
        if (!is(name, 'content-length')) break
        if (length !== -1) throw new AnswerError('It has two Content-Length headers.')
        length = readLength(headers[headers.length - 1]!)
        break
      case 17:
        if (!is(name, 'transfer-encoding')) break
        // Any other coding would have to be undone here, because the header ends here.
        if (chunked || !is(headers[headers.length - 1]!, 'chunked'))
          throw new AnswerError('Its Transfer-Encoding is not just "chunked".')
        chunked = true
        break
      default:
    }
  }
  if (chunked && length !== -1) throw new AnswerError('It has both Content-Length and Transfer-Encoding.')
  if (chunked && !isNew) throw new AnswerError('HTTP/1.0 knows no Transfer-Encoding.')
  const framing = chunked ? 'chunked' : length === -1 ? 'close' : 'length'
  return { status, reason, headers, framing, length, keepAlive, idleFor, upgrade }
}

/** The fields behind the last chunk, up to the empty line. What would say how long a message is has no business there. */
export function parseTrailers(bytes: Buffer, start: number, end: number): string[] {
  const text = bytes.toString('latin1', start, end)
  const trailers: string[] = []
  let at = start
  while (at < end - 2) {
    at = readField(bytes, start, at, text, trailers)
    const name = trailers[trailers.length - 2]!.toLowerCase()
    if (name === 'content-length' || name === 'transfer-encoding')
      throw new AnswerError(`Its trailers hold a ${name} header.`)
  }
  return trailers
}

function readVersion(text: string): boolean {
  if (text.startsWith('HTTP/1.1 ')) return true
  if (text.startsWith('HTTP/1.0 ')) return false
  throw new AnswerError('It does not begin with HTTP/1.1 or HTTP/1.0.')
}

function readStatus(text: string): number {
  const status = digit(text, 9) * 100 + digit(text, 10) * 10 + digit(text, 11)
  const next = text.charCodeAt(12)
  if (Number.isNaN(status) || status < 100 || (next !== space && next !== carriageReturn))
    throw new AnswerError('Its status is not of three digits.')
  return status
}

/** The index of the CR that ends the line; everything up to it must be allowed in a line. */
function lineEnd(bytes: Buffer, _start: number, from: number): number {
  let at = from
  while (kinds[bytes[at]!]! >= inLine) at += 1
  if (bytes[at] !== carriageReturn || bytes[at + 1] !== lineFeed)
    throw new AnswerError('A line of its head holds a control character or does not end with CR LF.')
  return at
}

/** Adds one name and value; answers where the next line begins. */
function readField(bytes: Buffer, start: number, from: number, text: string, fields: string[]): number {
  let at = from
  while (kinds[bytes[at]!] === inToken) at += 1
  // Also what a folded line and a space before the colon look like.
  if (at === from || bytes[at] !== colon) throw new AnswerError('A line of its head is no header.')
  const name = text.slice(from - start, at - start)
  at += 1
  while (isBlank(bytes[at]!)) at += 1
  const end = lineEnd(bytes, start, at)
  let last = end
  while (last > at && isBlank(bytes[last - 1]!)) last -= 1
  fields.push(name, text.slice(at - start, last - start))
  return end + 2
}

function isBlank(byte: number): boolean {
  return byte === space || byte === tab
}

function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - zero
  return value >= 0 && value <= 9 ? value : Number.NaN
}

function is(name: string, lower: string): boolean {
  return name === lower || name.toLowerCase() === lower
}

function readLength(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new AnswerError('Its Content-Length is no number of bytes.')
  return Number(value)
}

function namesClose(value: string): boolean {
  if (value === 'keep-alive') return false
  return value.split(',').some((token) => token.trim().toLowerCase() === 'close')
}

function readIdle(value: string): number {
  if (value === 'timeout=5') return 5_000
  const seconds = /(?:^|[,;\s])timeout=(\d{1,6})/i.exec(value)?.[1]
  return seconds === undefined ? -1 : Number(seconds) * 1_000
}

const space = 0x20
const tab = 0x09
const colon = 0x3a
const zero = 0x30
const carriageReturn = 0x0d
const lineFeed = 0x0a

/** What a byte may be part of: nothing, a line, or also a name (RFC 9110, 5.6.2). */
const inLine = 1
const inToken = 2
const kinds = new Uint8Array(256)
for (let byte = 0x20; byte < 256; byte += 1) if (byte !== 0x7f) kinds[byte] = inLine
kinds[tab] = inLine
for (const character of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  kinds[character.charCodeAt(0)] = inToken
