import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { createServer as createTlsServer, setDefaultCACertificates } from 'node:tls'
import { parseHeaders } from '../src/log-export/headers-file.ts'
import { createLineQueue } from '../src/log-export/line-queue.ts'
import { makePair } from './certificates-support.ts'
import { openExports, project, readSyslog, recordOtlp, recordSyslog, until } from './log-export-support.ts'

const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `line ${from + at}`)

test('what is printed from then on arrives in order, and a restart loses and doubles nothing', async (t) => {
  const [exports, recorder] = [await openExports(t), await recordOtlp(t)]
  await exports.print('web', 'of before')
  const headersFile = join(exports.root, 'headers')
  await writeFile(headersFile, '# token\nAuthorization: Bearer one\n')
  const first = exports.open({ url: recorder.url, headersFile })
  await first.begun()
  // Times have milliseconds, and what was there before is not sent.
  await new Promise((resolve) => setTimeout(resolve, 10))
  await exports.print('web', ...numbered(0, 700))
  await until(() => first.state().lines === 700)
  assert.deepEqual(recorder.texts, numbered(0, 700))
  assert.deepEqual(recorder.faults, [])
  assert.ok(recorder.batches.every((lines) => lines <= 512))
  const headers = recorder.requests[0]!.headers
  assert.deepEqual(
    [headers.authorization, headers['content-type'], headers['content-encoding']],
    ['Bearer one', 'application/json', 'gzip'],
  )
  assert.deepEqual([first.state().lines, first.state().dropped, first.state().waiting.lines], [700, 0, 0])
  await first.close()
  await exports.print('web', ...numbered(700, 900))
  await writeFile(headersFile, 'Authorization: Bearer two\n')
  const second = exports.open({ url: recorder.url, headersFile })
  exports.names.push('worker')
  await exports.print('worker', 'of another')
  await until(() => recorder.texts.length === 901)
  assert.deepEqual(
    recorder.texts.filter((text) => text !== 'of another'),
    numbered(0, 900),
  )
  assert.equal(recorder.requests.at(-1)?.headers.authorization, 'Bearer two')
  await second.close()
  assert.deepEqual(exports.errors, [])
})

test('a service that is killed before it noted a batch sends that batch again, and nothing else', async (t) => {
  const [exports, recorder] = [await openExports(t), await recordOtlp(t)]
  const limits = { lines: 1000, units: 1e6, batchLines: 20, batchUnits: 1e6 }
  const first = exports.open({ url: recorder.url, limits })
  await first.begun()
  await exports.print('web', ...numbered(0, 100))
  await until(() => recorder.texts.length === 100)
  await first.close()
  assert.deepEqual(recorder.batches, [20, 20, 20, 20, 20])
  // As the store would be found: the last batch was taken, and not yet noted.
  const noted = exports.written as { [project]: { cursors: Record<string, string> } }[]
  const distinct = [...new Map(noted.map((one) => [one[project].cursors.web, one])).values()]
  exports.state.stored = distinct.at(-2)
  const second = exports.open({ url: recorder.url, limits })
  await exports.print('web', ...numbered(100, 110))
  await until(() => recorder.texts.includes('line 109'))
  assert.deepEqual(recorder.texts.slice(100), numbered(80, 110))
  await second.close()
})

test('while the receiver is away the oldest lines make room, and each that is lost is counted', async (t) => {
  const [exports, recorder] = [await openExports(t), await recordOtlp(t)]
  recorder.state.answer = { status: 503 }
  const limits = { lines: 100, units: 1e6, batchLines: 50, batchUnits: 1e6 }
  const keeper = exports.open({ url: recorder.url, limits, pace: 0.2 })
  await keeper.begun()
  await exports.print('web', ...numbered(0, 1000))
  await until(() => keeper.state().dropped === 900)
  assert.match(keeper.state().failure?.reason ?? '', /answered 503/)
  assert.equal(keeper.state().waiting.lines, 100)
  assert.ok((keeper.state().waiting.oldest ?? 0) > Date.now() - 60_000)
  recorder.state.answer = { status: 200 }
  await until(() => recorder.texts.length === 100)
  await until(() => keeper.state().lines === 100)
  assert.deepEqual(recorder.texts, numbered(900, 1000))
  assert.deepEqual([keeper.state().dropped, keeper.state().failure], [900, null])
  // What was given up is not sent after a restart either.
  await keeper.close()
  const again = exports.open({ url: recorder.url })
  await exports.print('web', 'last')
  await until(() => recorder.texts.includes('last'))
  assert.equal(recorder.texts.length, 101)
  await again.close()
})

test('a slow receiver is waited for, and nothing is dropped', async (t) => {
  const [exports, recorder] = [await openExports(t), await recordOtlp(t)]
  recorder.state.delayMs = 30
  const limits = { lines: 100, units: 1e6, batchLines: 50, batchUnits: 1e6 }
  const keeper = exports.open({ url: recorder.url, limits })
  await keeper.begun()
  await exports.print('web', ...numbered(0, 1000))
  await until(() => recorder.texts.length === 1000)
  assert.deepEqual(recorder.texts, numbered(0, 1000))
  await until(() => keeper.state().lines === 1000)
  assert.equal(keeper.state().dropped, 0)
})

test('Retry-After is waited for, a refused batch is counted and passed, and so is what a receiver left out', async (t) => {
  const [exports, recorder] = [await openExports(t), await recordOtlp(t)]
  recorder.state.answer = { status: 429, headers: { 'retry-after': '10' } }
  const keeper = exports.open({ url: recorder.url, pace: 0.05 })
  await keeper.begun()
  await exports.print('web', 'patience')
  await until(() => recorder.times.length === 1)
  recorder.state.answer = { status: 200 }
  await until(() => recorder.texts.length === 1)
  // Ten seconds at this pace; without the header it were 50 ms.
  assert.ok(recorder.times[1]! - recorder.times[0]! >= 490, String(recorder.times))
  recorder.state.answer = { status: 400 }
  await exports.print('web', 'refused')
  await until(() => keeper.state().dropped === 1)
  assert.match(keeper.state().refusal?.reason ?? '', /answered 400/)
  const partialSuccess = { rejectedLogRecords: '1', errorMessage: 'too old' }
  recorder.state.answer = { status: 200, body: JSON.stringify({ partialSuccess }) }
  await exports.print('web', 'left out')
  await until(() => keeper.state().dropped === 2)
  assert.deepEqual([keeper.state().refusal?.reason, keeper.state().lines], ['too old', 1])
})

test('syslog over TCP counts octets, takes a new connection after one broke, and a line is one message', async (t) => {
  const exports = await openExports(t)
  const recorder = await recordSyslog(t)
  const keeper = exports.open({ url: `syslog+tcp://127.0.0.1:${recorder.port}` })
  await keeper.begun()
  await exports.print('web', ...numbered(0, 600), 'tab\there ü 😀', '')
  await until(() => recorder.texts.length === 602)
  assert.deepEqual(recorder.texts, [...numbered(0, 600), 'tab#011here ü 😀', ''])
  assert.equal(recorder.sockets.size, 1)
  recorder.cut()
  await new Promise((resolve) => setTimeout(resolve, 50))
  await exports.print('web', 'after')
  await until(() => recorder.texts.at(-1) === 'after')
  assert.deepEqual([recorder.sockets.size, recorder.texts.length, recorder.faults.length], [2, 603, 0])
  // Nobody listens: it waits, and says why.
  const closed = recorder.close()
  recorder.cut()
  await closed
  await new Promise((resolve) => setTimeout(resolve, 50))
  await exports.print('web', 'later')
  await until(() => keeper.state().failure !== null)
  assert.match(keeper.state().failure?.reason ?? '', /ECONNREFUSED/)
  const next = await recordSyslog(t, createServer, recorder.port)
  await until(() => next.texts.length === 1)
  assert.deepEqual(next.texts, ['later'])
  await until(() => keeper.state().failure === null)
})

test('syslog over TLS sends nothing before the certificate of the receiver is known', async (t) => {
  const exports = await openExports(t)
  const { certificate, key } = await makePair({ names: ['localhost'] })
  const recorder = await recordSyslog(t, (listener) => createTlsServer({ cert: certificate, key }, listener))
  const keeper = exports.open({ url: `syslog+tls://localhost:${recorder.port}` })
  await keeper.begun()
  await exports.print('web', 'sealed')
  await until(() => keeper.state().failure !== null)
  assert.match(keeper.state().failure?.reason ?? '', /certificate/)
  assert.deepEqual([recorder.texts, keeper.state().lines], [[], 0])
  setDefaultCACertificates([certificate])
  await until(() => recorder.texts.length === 1)
  assert.deepEqual([recorder.texts, recorder.faults], [['sealed'], []])
})

test('syslog over UDP has a message in each datagram, which fits in what receivers take', async (t) => {
  const exports = await openExports(t)
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  const messages: Buffer[] = []
  socket.on('message', (message) => messages.push(message))
  const keeper = exports.open({ url: `syslog+udp://127.0.0.1:${socket.address().port}` })
  await keeper.begun()
  await exports.print('web', ...numbered(0, 300), 'ü'.repeat(10_000))
  await until(() => messages.length === 301)
  assert.deepEqual(
    messages.slice(0, 300).map((message) => readSyslog(message.toString()).text),
    numbered(0, 300),
  )
  assert.ok(messages[300]!.length <= 8192)
  assert.match(readSyslog(messages[300]!.toString()).text, /^ü{3584}$/)
})

test('addresses that only the machine itself may ask are refused, however they are reached', async (t) => {
  const exports = await openExports(t)
  for (const url of ['syslog+tcp://169.254.169.254:1', 'syslog+udp://169.254.169.254:1', 'http://169.254.169.254/']) {
    const keeper = exports.open({ url })
    await keeper.begun()
    await exports.print('web', 'secret')
    await until(() => keeper.state().failure !== null)
    assert.match(keeper.state().failure?.reason ?? '', /169\.254\.169\.254: it belongs to the machine itself/)
    await keeper.close()
  }
})

test('switched off it forgets where it stood, so that what is printed meanwhile is not sent later', async (t) => {
  const [exports, recorder] = [await openExports(t), await recordOtlp(t)]
  const keeper = exports.open({ url: recorder.url })
  await keeper.begun()
  await exports.print('web', 'one')
  await until(() => recorder.texts.length === 1)
  keeper.config.logExport.url = null
  await keeper.renew()
  assert.equal(keeper.state().target, null)
  assert.deepEqual(exports.state.stored, {})
  await exports.print('web', 'meanwhile')
  await new Promise((resolve) => setTimeout(resolve, 10))
  keeper.config.logExport.url = recorder.url
  await keeper.renew()
  await new Promise((resolve) => setTimeout(resolve, 10))
  await exports.print('web', 'two')
  await until(() => recorder.texts.length === 2)
  assert.deepEqual(recorder.texts, ['one', 'two'])
})

test('the file of headers says what is wrong without what stands in it', () => {
  assert.deepEqual(parseHeaders('# a\n\nAuthorization:  Bearer a:b \r\nX-Scope-OrgID: 7\n'), {
    authorization: 'Bearer a:b',
    'x-scope-orgid': '7',
  })
  for (const text of ['secret', 'a b: secret', 'X: secret\u0001', 'Host: secret', 'content-length: secret'])
    assert.throws(() => parseHeaders(`\n${text}`), /^Error: Line 2 (?!.*secret)/, text)
})

test('a queue keeps order and sizes over any taking', () => {
  const queue = createLineQueue({ lines: 10, units: 1000, batchLines: 4, batchUnits: 7 })
  const push = (text: string) =>
    queue.push({ project: 'p', projectId: 'p', workload: 'w', time: 0, stream: 'stdout', text, cursor: text })
  const seen: string[] = []
  let pushed = 0
  for (let round = 0; round < 200; round++) {
    while (queue.hasRoom()) push(`${pushed++}`)
    assert.equal(queue.size(), 10)
    const batch = queue.batch()
    assert.ok(batch.length <= 4 && batch.length >= 1)
    seen.push(...queue.take(1 + (round % batch.length)).map(({ text }) => text))
  }
  assert.deepEqual(
    seen,
    Array.from({ length: seen.length }, (_, at) => `${at}`),
  )
})
