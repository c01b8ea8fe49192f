import assert from 'node:assert/strict'
import { appendFile, chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type LogFrame, type LogLine, operations, ProblemError } from '@stackquay/contract'
import { levelOf } from '@stackquay/domain/log-level'
import type { Engine } from '@stackquay/engine-api'
import { createNativeEngine, oneAccount } from '@stackquay/engines'
import type { FrameSocket, RequestContext } from '../src/http/handler.ts'
import { type LogDeps, logHandlers } from '../src/logs/log-handlers.ts'
import { createMatchers } from '../src/logs/log-match.ts'
import { createWorkers } from '../src/workers/workers.ts'
import { openTestApp } from './projects-support.ts'

const project = 'prj_logs'

test('levels are told from the text in the forms that programs use', () => {
  const known: Readonly<Record<string, ReturnType<typeof levelOf>>> = {
    '{"level":30,"time":1,"msg":"pino"}': 'info',
    '{"time":1,"level":50,"msg":"pino"}': 'error',
    '{"level":"warn","message":"winston"}': 'warning',
    '{"severity":"CRITICAL","message":"cloud"}': 'error',
    '{"msg":"the word error is no level"}': null,
    'time=2026-01-01T00:00:00Z level=warn msg="logfmt"': 'warning',
    'ts=1 lvl=debug': 'debug',
    '2026/01/02 03:04:05 [error] 12#12: *1 open() failed': 'error',
    '[2026-01-02 03:04:05 +0000] [12] [INFO] Booting worker': 'info',
    '2026-01-02 03:04:05,123 - app.orders - WARNING - slow': 'warning',
    'ERROR:root:it broke': 'error',
    'INFO:     127.0.0.1:5000 - "GET / HTTP/1.1" 200 OK': 'info',
    'E, [2026-01-02T03:04:05.678 #12] ERROR -- : rails': 'error',
    'D, [2026-01-02T03:04:05.678 #12] DEBUG -- : rails': 'debug',
    'PHP Fatal error:  Uncaught Error: no': 'error',
    'PHP Warning:  Undefined variable $x in a.php on line 3': 'warning',
    'PHP Notice:  Undefined index': 'info',
    '2026-01-02 03:04:05.678 UTC [12] LOG:  database system is ready': 'info',
    '2026-01-02 03:04:05.678 UTC [12] FATAL:  role "x" does not exist': 'error',
    '2026-01-02T03:04:05.6Z 0 [Warning] [MY-010068] [Server] CA certificate': 'warning',
    '12:M 02 Jan 2026 03:04:05.678 # Warning: no config file': 'warning',
    '12:M 02 Jan 2026 03:04:05.678 * Ready to accept connections': 'info',
    'E0102 03:04:05.678901   12 main.go:12] glog': 'error',
    '[2026-01-02T03:04:05Z WARN  my_crate] rust': 'warning',
    'panic: runtime error: index out of range [3]': 'error',
    'Traceback (most recent call last):': 'error',
    'TypeError: x is not a function': 'error',
    'npm error code ENOENT': 'error',
    'npm warn deprecated x@1': 'warning',
    '\u001b[32minfo\u001b[39m: coloured': 'info',
    'GET /errors?level=high 200': null,
    'everything is fine, no error here': null,
    'SELECT * FROM LOG': null,
    '': null,
  }
  for (const [text, level] of Object.entries(known)) assert.equal(levelOf(text), level, text)
})

test('a pattern that would never end is ended, and the next search goes on', async () => {
  const workers = createWorkers()
  const matchers = createMatchers(workers)
  const { signal } = new AbortController()
  try {
    const bad = matchers.matcher('(a+)+$')
    await assert.rejects(bad([`${'a'.repeat(60)}!`], signal), { code: 'deadline_exceeded' })
    const good = matchers.matcher('^b.d$')
    assert.deepEqual([...(await good(['bad', 'BED', 'abed', ''], signal))], [1, 1, 0, 0])
    const total = matchers.matcher('(a+)+$', 50)
    await assert.rejects(total([`${'a'.repeat(60)}!`], signal), { code: 'deadline_exceeded' })
    assert.throws(() => matchers.matcher('(a'), { code: 'invalid_request', message: /Unterminated group/ })
    const many = Array.from({ length: 20 }, (_, at) => matchers.matcher(String(at))([`x${at}`], signal))
    assert.ok((await Promise.all(many)).every((hits) => hits[0] === 1))
  } finally {
    await workers.close()
  }
})

test('lines of two workloads come in the order of time, filtered by text, expression, level and time', async (t) => {
  const logs = await openLogs(t)
  for (let at = 0; at < 40; at++)
    await logs.print(at % 2 === 0 ? 'web' : 'worker', `${at % 10 === 3 ? 'ERROR' : 'info:'} line ${at}`)
  const all = (await logs.page({})).items
  assert.equal(all.length, 40)
  assert.deepEqual(
    all.map(({ text }) => Number(text.split(' ')[2])),
    Array.from({ length: 40 }, (_, at) => at),
  )
  assert.deepEqual(await logs.texts({ q: 'LINE 3', workload: 'web' }), [
    'line 30',
    'line 32',
    'line 34',
    'line 36',
    'line 38',
  ])
  assert.deepEqual(await logs.texts({ q: '^error line [12]', regex: 'true' }), ['line 13', 'line 23'])
  assert.deepEqual(await logs.texts({ level: 'warning' }), ['line 3', 'line 13', 'line 23', 'line 33'])
  assert.deepEqual(all[3]?.level, 'error')
  assert.equal((await logs.texts({ limit: '7' })).length, 7)
  assert.deepEqual(await logs.texts({ q: 'line', limit: '2', level: 'error' }), ['line 23', 'line 33'])
  assert.deepEqual(await logs.texts({ since: '2100-01-01T00:00:00Z' }), [])
})

test('pages go on after any line, and after the last page comes what is new alone', async (t) => {
  const logs = await openLogs(t)
  for (let at = 0; at < 30; at++) await logs.print(at % 3 === 0 ? 'web' : 'worker', `line ${at}`)
  const page = await logs.page({})
  for (const at of [0, 7, 28]) {
    const rest = await logs.page({ cursor: page.items[at]!.cursor })
    assert.equal(rest.items.length, 29 - at)
    assert.equal(new Set(rest.items.map(({ text }) => text)).size, 29 - at)
  }
  assert.deepEqual(await logs.texts({ cursor: page.nextCursor }), [])
  await logs.print('web', 'line new')
  assert.deepEqual(await logs.texts({ cursor: page.nextCursor }), ['line new'])
  await assert.rejects(logs.page({ cursor: 'nonsense' }), { code: 'invalid_request' })
})

test('twenty followers get the same bytes, one that stops reading keeps none of them waiting', async (t) => {
  const logs = await openLogs(t)
  await logs.print('web', ...Array.from({ length: 20_000 }, (_, at) => `line ${at} ${'ü"\\'.repeat(at % 5)}`))
  const stuck = logs.follow({ cursor: '@' }, { holdAfter: 3 })
  const followers = Array.from({ length: 20 }, () => logs.follow({ cursor: '@' }))
  await Promise.all(followers.map((follower) => follower.until((lines) => lines.length === 20_000)))
  const [first, ...others] = followers.map(({ frames }) => JSON.stringify(frames))
  assert.ok(others.every((frames) => frames === first))
  assert.equal(followers[0]?.lines[19_999]?.text, `line 19999 ${'ü"\\'.repeat(4)}`)
  const seqs = followers[0]!.frames.map(({ seq }) => seq)
  assert.deepEqual(
    seqs,
    seqs.map((_, at) => at + 1),
  )
  stuck.release()
  await stuck.until((lines) => lines.length === 20_000)
  for (const follower of [...followers, stuck]) await follower.end()
})

test('following goes on over a restart of the service, while a program prints, without loss or repetition', async (t) => {
  const logs = await openLogs(t)
  let printed = 0
  let isPrinting = true
  const printing = (async () => {
    while (isPrinting) {
      await logs.print(printed % 3 === 0 ? 'worker' : 'web', `line ${printed}`)
      printed += 1
    }
  })()
  const seen: LogLine[] = []
  let cursor: string | undefined = '@'
  for (let round = 0; round < 6; round++) {
    const follower = logs.follow({ cursor })
    await follower.until((lines) => lines.length >= 20)
    await follower.end()
    seen.push(...follower.lines)
    cursor = seen.at(-1)?.cursor
    await logs.restart()
  }
  isPrinting = false
  await printing
  const last = logs.follow({ cursor })
  await last.until((lines) => lines.length + seen.length >= printed)
  await last.end()
  seen.push(...last.lines)
  const found = seen.map(({ text }) => Number(text.slice(5))).sort((a, b) => a - b)
  assert.deepEqual(
    found,
    Array.from({ length: printed }, (_, at) => at),
  )
})

test('a workload that comes later is followed too, one that goes ends nothing, and a deleted project ends the stream', async (t) => {
  const logs = await openLogs(t, ['web'])
  await logs.print('web', 'one')
  const follower = logs.follow({})
  await follower.until((lines) => lines.length === 1)
  logs.names = ['web', 'cron']
  await logs.print('cron', 'two')
  await follower.until((lines) => lines.some(({ workload }) => workload === 'cron'))
  logs.names = ['cron']
  await logs.print('cron', 'three')
  await follower.until((lines) => lines.length === 3)
  logs.names = null
  await assert.rejects(follower.ended, { code: 'not_found' })
})

test('followers with filters get what fits alone, and new lines as they come', async (t) => {
  const logs = await openLogs(t)
  await logs.print('web', 'ERROR old', 'fine', 'ERROR older')
  const errors = logs.follow({ level: 'error', tail: '1' })
  const matching = logs.follow({ q: 'l[o]t', regex: 'true' })
  await errors.until((lines) => lines.length === 1)
  await logs.print('web', 'a lot', 'ERROR new')
  await errors.until((lines) => lines.length === 2)
  await matching.until((lines) => lines.length === 1)
  assert.deepEqual(
    errors.lines.map(({ text }) => text),
    ['ERROR older', 'ERROR new'],
  )
  await errors.end()
  await matching.end()
  const endless = logs.follow({ q: '(a+)+$', regex: 'true', tail: '1' })
  await logs.print('web', `${'a'.repeat(60)}!`)
  await assert.rejects(endless.ended, { code: 'deadline_exceeded' })
})

test('a download has all lines as text or JSON, and stops when its reader leaves', async (t) => {
  const logs = await openLogs(t)
  await logs.print('web', ...Array.from({ length: 30_000 }, (_, at) => `line ${at}`))
  const text = await logs.download({ format: 'text' })
  const lines = Buffer.concat(await Array.fromAsync(text.stream))
    .toString()
    .trimEnd()
    .split('\n')
  assert.equal(lines.length, 30_000)
  assert.match(lines[29_999] ?? '', /^\d{4}-.*Z web line 29999$/)
  assert.equal(text.headers['content-disposition'], 'attachment; filename="logs-logs.txt"')
  const json = await logs.download({ format: 'jsonl', q: 'line 2999', workload: 'web' })
  const found = Buffer.concat(await Array.fromAsync(json.stream))
    .toString()
    .trimEnd()
    .split('\n')
  assert.equal(found.length, 11)
  assert.equal(JSON.parse(found[0] ?? '').text, 'line 2999')
  for await (const chunk of (await logs.download({ format: 'text' })).stream) {
    assert.ok(chunk.length < 1_000_000)
    break
  }
})

test('the API answers logs, refuses a bad expression by its reason, and names a download safely', async (t) => {
  const { ask, engine } = await openTestApp(t)
  const body = { name: 'A "b"\\ ; x=ü', template: 'express', start: true }
  const created = await ask('POST', '/projects?wait=30', body)
  assert.equal(created.status, 201)
  const workload = created.body.status.workloads[0]?.name ?? ''
  engine.print({ project: created.body.id, workload }, '[error] from the fake')
  const path = `/projects/${created.body.id}/logs`
  const page = await ask<{ items: LogLine[] }>('GET', `${path}?level=error&q=FAKE`)
  assert.equal(page.body.items[0]?.level, 'error')
  const bad = await ask<{ code: string; detail: string }>('GET', `${path}?q=${encodeURIComponent('(a')}&regex=true`)
  assert.deepEqual([bad.status, bad.body.code], [400, 'invalid_request'])
  assert.match(bad.body.detail, /Unterminated group/)
  const download = await ask<string>('GET', `${path}/download?format=text`)
  assert.equal(download.status, 200)
  assert.match(download.body, /\[error\] from the fake\n/)
  assert.match(String(download.headers['content-disposition']), /^attachment; filename="[a-zA-Z0-9_-]+\.txt"$/)
})

/** What a recorder notes: when so much of stdout was there. */
function entryOf(time: number, size: number): Buffer {
  const entry = Buffer.alloc(16)
  entry.writeUIntBE(time, 0, 6)
  entry.writeUIntBE(size, 6, 5)
  return entry
}

type Query = Readonly<Record<string, string | undefined>>

/** The handlers over a native engine in a home of its own, with logs as programs would have written them. */
async function openLogs(t: TestContext, names: readonly string[] = ['web', 'worker']) {
  const root = await mkdtemp(join(tmpdir(), 'stackquay-logs-'))
  await chmod(root, 0o711)
  const home = join(root, 'home')
  const runAs = process.getuid?.() === 0 ? { uid: 48_211, gid: 48_211 } : null
  const open = () => createNativeEngine({ home, accounts: oneAccount(runAs), bundled: [] })
  let engine: Engine = await open()
  const followers = new Set<{ end(): Promise<void> }>()
  t.after(async () => {
    for (const follower of followers) await follower.end()
    await engine.close()
    await rm(root, { recursive: true, force: true })
  })
  const state = { names: names as readonly string[] | null }
  const known = () => ({ resolved: { workloads: state.names?.map((workload) => ({ ref: { project, workload } })) } })
  // Of both only what is asked here: the row's id and slug, and the names of workloads.
  const store = { projects: { find: async () => (state.names === null ? null : { id: project, slug: 'logs' }) } }
  const model = { find: () => (state.names === null ? null : known()), renew: async () => known() }
  const workers = createWorkers()
  t.after(() => workers.close())
  const build = () => logHandlers({ engine, store, model, workers } as unknown as LogDeps)
  let handlers = build()
  const sizes = new Map<string, number>()
  const log = Date.now().toString(36).padStart(9, '0')
  const context = (signal: AbortSignal) => ({ signal }) as RequestContext

  const page = async (query: Query) => {
    const input = { params: { id: project }, query: operations.getProjectLogs.query!.parse(query), body: undefined }
    const reply = await handlers.getProjectLogs(input as never, context(new AbortController().signal))
    return reply.body as { items: LogLine[]; nextCursor: string }
  }
  return {
    get names() {
      return state.names
    },
    set names(next) {
      state.names = next
    },
    page,
    texts: async (query: Query) => (await page(query)).items.map(({ text }) => text.replace(/^(ERROR|info:) /, '')),
    async download(query: Query) {
      const input = { params: { id: project }, query: operations.downloadLogs.query!.parse(query), body: undefined }
      const reply = await handlers.downloadLogs(input as never, context(new AbortController().signal))
      return { headers: reply.headers ?? {}, stream: reply.stream as AsyncIterable<Buffer> }
    },
    async print(workload: string, ...lines: readonly string[]) {
      const directory = join(home, 'logs', project, workload)
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await writeFile(join(directory, `${log}.err`), '', { flag: 'a' })
      const before = sizes.get(workload) ?? 0
      const text = `${lines.join('\n')}\n`
      sizes.set(workload, before + Buffer.byteLength(text))
      const entries = [...(before === 0 ? [entryOf(0, 0)] : []), entryOf(Date.now(), before + Buffer.byteLength(text))]
      await appendFile(join(directory, `${log}.idx`), Buffer.concat(entries))
      await appendFile(join(directory, `${log}.out`), text)
      // Lines are ordered by milliseconds.
      await new Promise((resolve) => setTimeout(resolve, 2))
    },
    async restart() {
      await engine.close()
      engine = await open()
      handlers = build()
    },
    follow(query: Query, { holdAfter }: { holdAfter?: number } = {}) {
      const leaving = new AbortController()
      const held = Promise.withResolvers<void>()
      const frames: LogFrame[] = []
      const lines: LogLine[] = []
      let heard = Promise.withResolvers<void>()
      let seq = 0
      const take = async (frame: LogFrame) => {
        if (holdAfter !== undefined && frames.length >= holdAfter) await held.promise
        if (leaving.signal.aborted) throw leaving.signal.reason
        frames.push(frame)
        if (frame.type === 'lines') lines.push(...frame.items)
        heard.resolve()
        heard = Promise.withResolvers()
      }
      const socket: FrameSocket = {
        signal: leaving.signal,
        send: (frame) => take({ ...frame, seq: ++seq } as unknown as LogFrame),
        sendText: async () => {},
        sendBinary: async () => {},
        sendNumbered: (type, fields) => take(JSON.parse(`{"type":"${type}","seq":${++seq},${fields}`)),
        flushed: async () => {},
        receive: () => {},
      }
      const input = { params: { id: project }, query: operations.watchProjectLogs.query!.parse(query), body: undefined }
      const ended = handlers.watchProjectLogs(input as never, context(leaving.signal), socket)
      ended.catch(() => {})
      const follower = {
        frames,
        lines,
        ended,
        release: held.resolve,
        async until(enough: (lines: readonly LogLine[]) => boolean) {
          const deadline = AbortSignal.timeout(30_000)
          const late = Promise.withResolvers<never>()
          deadline.addEventListener('abort', () => late.reject(new Error(`only ${lines.length} lines came`)))
          late.promise.catch(() => {})
          while (!enough(lines)) await Promise.race([heard.promise, ended.then(() => late.promise), late.promise])
        },
        async end() {
          followers.delete(follower)
          leaving.abort(new ProblemError('not_found', 'The test is over.'))
          held.resolve()
          await ended.catch(() => {})
        },
      }
      followers.add(follower)
      return follower
    },
  }
}
