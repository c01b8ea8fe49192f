import assert from 'node:assert/strict'
import { request } from 'node:http'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { randomFrom } from '@stackquay/testkit/random'
import { defaultLimits } from '../src/limits.ts'
import { AnswerError, type AnswerHead } from '../src/upstream/answer-head.ts'
import { AnswerParser } from '../src/upstream/answer-parser.ts'

interface Read {
  readonly status: number
  readonly reason: string
  readonly headers: readonly string[]
  readonly body: string
  readonly trailers: readonly string[]
}

/** What our parser makes of the bytes, cut at the given places; null when it refuses them. */
function readByParser(bytes: Buffer, cuts: readonly number[], method: string): Read | null {
  let head: AnswerHead | undefined
  let body = ''
  let trailers: readonly string[] = []
  let ends = 0
  const parser = new AnswerParser(defaultLimits)
  parser.expect(
    {
      onInformation() {},
      onHead(got) {
        assert.equal(head, undefined)
        head = got
      },
      onBody(chunk, start, end) {
        assert.ok(start < end && end <= chunk.length)
        body += chunk.toString('latin1', start, end)
      },
      onEnd(got) {
        ends += 1
        trailers = got
      },
    },
    method,
  )
  try {
    let from = 0
    for (const cut of [...cuts, bytes.length]) {
      // A copy that is overwritten afterwards, as the memory is that connections read into.
      const chunk = Buffer.from(bytes.subarray(from, cut))
      parser.feed(chunk)
      chunk.fill(0x58)
      from = cut
      if (parser.isDone) break
    }
    if (!parser.isDone) parser.end()
  } catch (error) {
    assert.ok(error instanceof AnswerError, String(error))
    return null
  }
  assert.equal(ends, 1)
  return { status: head!.status, reason: head!.reason, headers: head!.headers, body, trailers }
}

/** How many bytes belong to an answer that is accepted. */
function lengthOf(bytes: Buffer, method: string): number {
  const parser = new AnswerParser(defaultLimits)
  parser.expect({ onInformation() {}, onHead() {}, onBody() {}, onEnd() {} }, method)
  let length = 0
  while (length < bytes.length && !parser.isDone) {
    parser.feed(bytes.subarray(length, length + 1))
    length += 1
  }
  return length
}

/** The same with Node's own, strict. */
function nodes(bytes: Buffer, method: string): Promise<Read | null> {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read() {},
      write(_chunk, _encoding, done) {
        done()
      },
    })
    const call = request({
      method,
      createConnection: () => socket,
      maxHeaderSize: 1024 * 1024,
      insecureHTTPParser: false,
      headers: { host: 'x' },
    })
    call.maxHeadersCount = 0
    call.on('error', () => resolve(null))
    call.on('response', (response) => {
      let body = ''
      response.setEncoding('latin1')
      response.on('data', (chunk: string) => {
        body += chunk
      })
      response.on('error', () => resolve(null))
      response.on('close', () => resolve(null))
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          reason: response.statusMessage!,
          headers: response.rawHeaders,
          body,
          trailers: response.rawTrailers,
        }),
      )
    })
    call.end()
    setImmediate(() => {
      socket.push(bytes)
      socket.push(null)
    })
  })
}

function someAnswer(random: () => number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const body = 'b'.repeat(Math.floor(random() * 40))
  const chunks = () => {
    let text = ''
    for (let count = Math.floor(random() * 4); count > 0; count -= 1) {
      const chunk = 'c'.repeat(1 + Math.floor(random() * 20))
      text += `${pick(['', '0', '00'])}${chunk.length.toString(16)}${pick(['', '', ';a', ';a=b', ';a="b c"', ' ', ';'])}\r\n${chunk}\r\n`
    }
    return `${text}${pick(['0', '000'])}\r\n${pick(['', '', 'X-T: 1\r\n', 'X-T: 1\r\nX-U:\r\n', 'Content-Length: 1\r\n'])}\r\n`
  }
  const framing = pick([
    () => `Content-Length: ${body.length}\r\n\r\n${body}`,
    () => `Content-Length: ${body.length}\r\n\r\n${body}`,
    () => `content-length:${body.length}  \r\n\r\n${body}${pick(['', 'HTTP/1.1 200 OK\r\n\r\n'])}`,
    () => `Transfer-Encoding: chunked\r\n\r\n${chunks()}`,
    () => `transfer-encoding: ${pick(['Chunked', 'gzip, chunked', 'chunked, chunked', 'identity'])}\r\n\r\n${chunks()}`,
    () => `\r\n${body}`,
    () => `Content-Length: ${body.length}\r\nContent-Length: ${pick([body.length, 3])}\r\n\r\n${body}`,
    () => `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks()}`,
  ])
  const headers = () => {
    let text = ''
    for (let count = Math.floor(random() * 5); count > 0; count -= 1) {
      text += `${pick(['X-A', 'Set-Cookie', 'x_b', "!#$%&'*+-.^_`|~", 'Connection', 'Keep-Alive', 'Trailer'])}:${pick(['', ' ', '\t ', '  '])}${pick(['', 'one', 'a b\tc', 'W\u00e4rt', 'close', 'keep-alive', 'timeout=3', '"q\\"'])}${pick(['', ' ', ' \t'])}\r\n`
    }
    return text
  }
  const start = `HTTP/${pick(['1.1', '1.1', '1.1', '1.0'])} ${pick(['200', '200', '404', '204', '304', '500', '999'])}${pick([' OK', ' Not Found', ' ', '', ' W\u00e4s'])}\r\n`
  return `${pick(['', '', '', 'HTTP/1.1 103 Early\r\nLink: x\r\n\r\n', 'HTTP/1.1 100 Continue\r\n\r\n'])}${start}${headers()}${framing()}`
}

/** A few bytes changed, put in or taken out, mostly such as mean something. */
function damaged(text: string, random: () => number): string {
  const special = ['\r', '\n', ' ', ':', '\t', '\0', '\x7f', '\xff', ',', ';', '0', 'f', '\r\n', '\r\n\r\n', '-', '+']
  let result = text
  for (let count = Math.floor(random() * 3); count > 0; count -= 1) {
    const at = Math.floor(random() * result.length)
    const byte =
      random() < 0.8 ? special[Math.floor(random() * special.length)]! : String.fromCharCode(Math.floor(random() * 256))
    const cut = at + Math.floor(random() * 3)
    result = result.slice(0, at) + byte + result.slice(cut)
  }
  return result
}

test('every answer that is read, Node’s strict parser reads alike, however the bytes are cut', async () => {
  let accepted = 0
  for (let seed = 1; seed <= 4_000; seed += 1) {
    const random = randomFrom(seed)
    const text = damaged(someAnswer(random), random)
    const bytes = Buffer.from(text, 'latin1')
    const method = random() < 0.1 ? 'HEAD' : 'GET'
    const whole = readByParser(bytes, [], method)
    const cuts = Array.from({ length: Math.floor(random() * 6) }, () => Math.floor(random() * bytes.length))
    const chunks = readByParser(
      bytes,
      cuts.sort((a, b) => a - b),
      method,
    )
    const single = readByParser(bytes, Array.from(bytes.keys()).slice(1), method)
    const what = `seed ${seed}: ${JSON.stringify(text)}`
    assert.deepEqual(chunks, whole, what)
    assert.deepEqual(single, whole, what)
    if (whole === null) continue
    accepted += 1
    // What follows a complete answer is thrown away with its connection; Node reads it first.
    assert.deepEqual(whole, await nodes(bytes.subarray(0, lengthOf(bytes, method)), method), what)
  }
  assert.ok(accepted > 1_000, `${accepted} were accepted`)
})

for (const [what, text] of [
  ['a folded header', 'HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\nContent-Length: 0\r\n\r\n'],
  ['a bare line feed', 'HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n'],
  ['a bare carriage return', 'HTTP/1.1 200 OK\r\nX-A: 1\r2\r\nContent-Length: 0\r\n\r\n'],
  ['a zero byte', 'HTTP/1.1 200 OK\r\nX-A: \0\r\nContent-Length: 0\r\n\r\n'],
  ['a space before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n'],
  ['a line without a colon', 'HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n'],
  ['an empty name', 'HTTP/1.1 200 OK\r\n: 0\r\n\r\n'],
  ['two equal lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n'],
  ['a list of lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 0, 0\r\n\r\n'],
  ['a sign in its length', 'HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na'],
  ['a length that no number holds', 'HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999\r\n\r\na'],
  ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a coding before chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
  ['two codings', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a chunk size with a sign', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n'],
  ['a chunk size that no number holds', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\na'],
  ['a chunk longer than its size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n'],
  ['a length in its trailers', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 1\r\n\r\n'],
  ['a body in an interim answer', 'HTTP/1.1 103 Early\r\nContent-Length: 1\r\n\r\na'],
  ['an unrequested protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
  ['another version', 'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n'],
  ['no end', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab'],
  ['nothing at all', ''],
] as const) {
  test(`an answer with ${what} is refused`, () => {
    assert.equal(readByParser(Buffer.from(text, 'latin1'), [], 'GET'), null)
  })
}

test('heads, interim answers and chunk extensions are bounded, also when they come byte by byte', () => {
  const long = (count: number) => `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(count)}\r\nContent-Length: 0\r\n\r\n`
  assert.notEqual(readByParser(Buffer.from(long(60 * 1024)), [], 'GET'), null)
  const tooLong = Buffer.from(long(66 * 1024))
  assert.equal(readByParser(tooLong, [], 'GET'), null)
  assert.equal(readByParser(tooLong, Array.from(tooLong.keys()).slice(1), 'GET'), null)

  const interim = (count: number) =>
    Buffer.from(`${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(count)}HTTP/1.1 204 No Content\r\n\r\n`)
  assert.equal(readByParser(interim(32), [], 'GET')?.status, 204)
  assert.equal(readByParser(interim(33), [], 'GET'), null)

  const chunked = (count: number) =>
    Buffer.from(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${`1;${'e'.repeat(99)}\r\na\r\n`.repeat(count)}0\r\n\r\n`,
    )
  assert.equal(readByParser(chunked(160), [], 'GET')?.body.length, 160)
  assert.equal(readByParser(chunked(170), [], 'GET'), null)
})
