import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type AccessLog, type AccessLogOptions, createAccessLog } from '../src/access/access-log.ts'
import type { ExchangeNote } from '../src/access/exchange-note.ts'
import { createHistogram } from '../src/access/histogram.ts'
import { factsOfLine, LinePage, type Lines } from '../src/access/line-page.ts'
import { QueryError, readAccessQuery, readProject, readTrafficQuery } from '../src/access/queries.ts'
import { readNewest } from '../src/access/read-log.ts'
import { createRecorder } from '../src/access/recorder.ts'
import { createScratch, createWriteBuffer } from '../src/access/write-buffer.ts'
import { ask, httpUpstream, proxyTo, until, upstreamAt } from './support.ts'

const noon = Date.parse('2026-03-01T12:00:00Z')
const unlimited = { milliseconds: 60_000 }

function note(change: Partial<ExchangeNote> = {}): ExchangeNote {
  return {
    project: 'prj_shop',
    host: 'shop.localhost',
    method: 'GET',
    path: '/',
    status: 200,
    seconds: 0.012,
    bytes: 100,
    client: '127.0.0.1',
    userAgent: 'test',
    via: 'domain',
    share: null,
    by: null,
    ...change,
  }
}

/** A log of its own, and a function that notes as if at a time. */
async function openLog(t: TestContext, options: Partial<AccessLogOptions> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-access-'))
  let time = noon
  const errors: unknown[] = []
  const log = createAccessLog({
    folder,
    bytes: 8 * 1024 * 1024,
    days: 14,
    now: () => time,
    onError: (error) => errors.push(error),
    ...options,
  })
  t.after(async () => {
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })
  const add = (...notes: readonly Partial<ExchangeNote>[]) => {
    const recorder = createRecorder(log.record, { now: () => time, within: 60_000 })
    for (const one of notes) recorder.note(note(one))
    recorder.flush()
  }
  const at = (next: number) => {
    time = next
  }
  return { log, folder, add, at, errors }
}

test('what is noted is found again, newest first, page by page, each line once', async (t) => {
  const { log, add } = await openLog(t)
  add(...Array.from({ length: 25 }, (_, index) => ({ path: `/${index}` })))
  const paths: string[] = []
  let before: string | undefined
  do {
    const page = await log.list('prj_shop', { limit: 10, before })
    paths.push(...page.items.map(({ path }) => path))
    before = page.next ?? undefined
  } while (before !== undefined)
  assert.deepEqual(
    paths,
    Array.from({ length: 25 }, (_, index) => `/${24 - index}`),
  )
  assert.deepEqual((await log.list('prj_other', {})).items, [])
})

test('a line has no query, no more of a user agent than is useful, and nothing that a terminal obeys', async (t) => {
  const { log, folder, add } = await openLog(t)
  add({ path: '/login?token=secret', userAgent: `\u001b[2J\u009b2J"\n${'x'.repeat(500)}`, by: 'page' })
  const [line] = (await log.list('prj_shop', {})).items
  assert.equal(line?.path, '/login')
  assert.equal(line?.userAgent?.length, 200)
  assert.equal(line?.by, 'page')
  const text = await readFile(join(folder, 'prj_shop', '00000001.jsonl'), 'latin1')
  assert.equal(text.includes('secret'), false)
  assert.match(text, /^[ -~]+\n$/)
})

test('lines are chosen by status, text, share and time', async (t) => {
  const { log, add, at } = await openLog(t)
  add({ path: '/A', status: 404 }, { path: '/b', status: 503 }, { path: '/c', share: 'shr_1', via: 'share' })
  at(noon + 60_000)
  add({ path: '/d', userAgent: 'Some"Body' }, { path: '/"status":404' })
  const found = async (query: Parameters<AccessLog['list']>[1]) =>
    (await log.list('prj_shop', query)).items.map(({ path }) => path)
  assert.deepEqual(await found({ status: '404' }), ['/A'])
  assert.deepEqual(await found({ status: '5xx' }), ['/b'])
  assert.deepEqual(await found({ q: '/a' }), ['/A'])
  assert.deepEqual(await found({ q: 'some"b' }), ['/d'])
  assert.deepEqual(await found({ share: 'shr_1' }), ['/c'])
  assert.deepEqual(await found({ since: new Date(noon + 60_000).toISOString() }), ['/"status":404', '/d'])
  assert.deepEqual(await found({ until: new Date(noon).toISOString() }), ['/c', '/b', '/A'])
})

test('a search that finds nothing ends at its bound, and goes on from there to the end', async (t) => {
  const { log, folder, add } = await openLog(t)
  add({ path: '/needle' }, ...Array.from({ length: 5_000 }, () => ({})))
  await log.list('prj_shop', {})
  const from = join(folder, 'prj_shop')
  const first = await readNewest(from, { q: 'needle' }, { ...unlimited, lines: 3_000 })
  assert.deepEqual(first.items, [])
  const second = await readNewest(from, { q: 'needle', before: first.next! }, { ...unlimited, lines: 3_000 })
  assert.deepEqual(
    second.items.map(({ path }) => path),
    ['/needle'],
  )
  assert.equal(second.next, null)
  // Out of time at once: still a step further each time.
  let before: string | undefined
  let found = 0
  let pages = 0
  do {
    const page = await readNewest(from, { q: 'needle', before }, { milliseconds: 0 })
    found += page.items.length
    pages += 1
    before = page.next ?? undefined
  } while (before !== undefined)
  assert.equal(found, 1)
  assert.ok(pages > 2 && pages < 50, `${pages} pages`)
})

test('a project takes no more than its space, and the newest lines are those that stay', async (t) => {
  const bytes = 64 * 1024
  const { log, folder, add } = await openLog(t, { bytes })
  for (let turn = 0; turn < 100; turn += 1) {
    add(...Array.from({ length: 20 }, (_, index) => ({ path: `/${turn}/${index}` })))
    await log.list('prj_shop', { limit: 1 })
  }
  const names = (await readdir(join(folder, 'prj_shop'))).filter((name) => /^\d/.test(name))
  let total = 0
  for (const name of names) total += (await stat(join(folder, 'prj_shop', name))).size
  assert.ok(total <= bytes && total > bytes / 2, `${total} bytes in ${names.length} files`)
  const { items } = await log.list('prj_shop', { limit: 1_000 })
  assert.equal(items[0]?.path, '/99/19')
  // No gaps in what is left, over the ends of files.
  const order = items.map(({ path }) => Number(path.split('/')[1]) * 20 + Number(path.split('/')[2]))
  assert.deepEqual(
    order,
    order.map((_, index) => 1_999 - index),
  )
})

test('a line that a kill broke off is passed over, and the next one begins on a line of its own', async (t) => {
  const { log, folder, add } = await openLog(t)
  add({ path: '/whole' }, { path: '/broken' })
  await log.close()
  const path = join(folder, 'prj_shop', '00000001.jsonl')
  await truncate(path, (await stat(path)).size - 20)
  const next = createAccessLog({ folder, bytes: 1e6, days: 14, onError: assert.fail })
  const recorder = createRecorder(next.record)
  recorder.note(note({ path: '/after' }))
  recorder.flush()
  const paths = (await next.list('prj_shop', {})).items.map(({ path }) => path)
  await next.close()
  assert.deepEqual(paths, ['/after', '/whole'])
})

test('what a killed process had not brought to its place is in the write-ahead file: nothing is lost and nothing is there twice', async (t) => {
  const { log, folder, add } = await openLog(t)
  add({ path: '/1' }, { path: '/2' }, { project: 'prj_other', path: '/3' })
  await log.close()
  const line = (await readFile(join(folder, 'prj_shop', '00000001.jsonl'), 'utf8')).split('\n')[1]!
  const missing = line.replace('/2', '/4')
  const ahead = join(folder, 'journal-1.log')
  await writeFile(
    ahead,
    `@prj_shop\n${line}\n@../x\n${line}\n@prj_new\n${line}\n@prj_shop\n${missing}\n@prj_shop\n{"time`,
  )
  // Killed before that file was deleted: read twice.
  const left = await readFile(ahead)
  for (let turn = 0; turn < 2; turn += 1) {
    await writeFile(ahead, left)
    const next = createAccessLog({ folder, bytes: 1e6, days: 14, onError: assert.fail })
    const paths = async (project: string) => (await next.list(project, {})).items.map(({ path }) => path)
    assert.deepEqual(await paths('prj_shop'), ['/4', '/2', '/1'])
    assert.deepEqual(await paths('prj_new'), ['/2'])
    assert.deepEqual(await paths('prj_other'), ['/3'])
    await next.close()
    assert.deepEqual((await readdir(folder)).sort(), ['prj_new', 'prj_other', 'prj_shop'])
  }
})

test('many busy projects wait in the write-ahead file, and a process that is killed then has lost none of their lines', async (t) => {
  const { log, folder, add } = await openLog(t)
  const projects = Array.from({ length: 600 }, (_, index) => `prj_${index}`)
  add(...projects.map((project) => ({ project, path: '/first' })))
  // The next run rests for as many files as the last one wrote.
  await until(
    async () => (await readdir(folder)).filter((name) => name.startsWith('prj_')).length === 600,
    'a run',
    20_000,
  )
  // Answered when that run has ended.
  await log.list('prj_0', {})
  add(...projects.map((project) => ({ project, path: '/second' })))
  let text = ''
  await until(
    async () => {
      for (const name of await readdir(folder)) {
        if (name.startsWith('journal-')) text = await readFile(join(folder, name), 'utf8').catch(() => text)
      }
      return text.split('/second').length > 600
    },
    'the lines are in the write-ahead file',
    20_000,
  )
  // As a killed process would leave it.
  const elsewhere = await mkdtemp(join(tmpdir(), 'stackquay-access-'))
  t.after(() => rm(elsewhere, { recursive: true, force: true }))
  await writeFile(join(elsewhere, 'journal-7.log'), text)
  const next = createAccessLog({ folder: elsewhere, bytes: 1e6, days: 14, onError: assert.fail })
  t.after(() => next.close())
  assert.equal((await next.list('prj_599', {})).items[0]?.path, '/second')
  assert.equal((await log.list('prj_599', {})).items.length, 2)
})

test('a disk that takes nothing costs lines, which are counted, and is used again when it takes some', async (t) => {
  const { log, folder, add, errors } = await openLog(t)
  // A file stands where the folder should be: every write fails, as on a full disk.
  await writeFile(join(folder, 'prj_shop'), '')
  add({}, {}, {})
  await assert.rejects(log.list('prj_shop', {}))
  assert.equal(log.dropped, 3)
  assert.equal(errors.length, 1)
  await rm(join(folder, 'prj_shop'))
  add({ path: '/again' })
  assert.deepEqual(
    (await log.list('prj_shop', {})).items.map(({ path }) => path),
    ['/again'],
  )
  assert.equal(log.dropped, 3)
})

test('a disk that stands still is not waited for: what is too much is dropped, the rest written in order', async (t) => {
  const { log, add } = await openLog(t, { most: 100_000 })
  for (let index = 0; index < 2_000; index += 1) add({ path: `/${index}` })
  assert.ok(log.dropped > 1_000 && log.dropped < 1_900, `${log.dropped} were dropped`)
  const { items } = await log.list('prj_shop', { limit: 1_000 })
  assert.deepEqual(
    items.map(({ path }) => path),
    Array.from({ length: 2_000 - log.dropped }, (_, index) => `/${1_999 - log.dropped - index}`),
  )
  // What is written makes room.
  await log.close()
  const before = log.dropped
  add({ path: '/again' })
  assert.equal(log.dropped, before)
  assert.equal((await log.list('prj_shop', { limit: 1 })).items[0]?.path, '/again')
})

test('lines of many projects and any letters come out of the write buffer as they came in, each once, with their facts', async () => {
  const buffer = createWriteBuffer(Number.POSITIVE_INFINITY)
  const elsewhere = new LinePage(64 * 1024)
  const given = new Map<string, string[]>()
  const facts = new Map<string, number[]>()
  const add = (index: number) => {
    const project = `prj_${(index * 7) % 113}`
    const line = `{"n":${index},"grün":"${'🦀☃'.repeat(index % 90)}"}\n`
    given.set(project, [...(given.get(project) ?? []), line])
    facts.set(project, [...(facts.get(project) ?? []), index])
    if (index % 3 > 0) buffer.add(project, line, index, 200, 0.5, 7)
    else if (elsewhere.add(project, line, index, 200, 0.5, 7) > 0) {
      assert.ok(buffer.addLines(elsewhere))
      elsewhere.clear()
    } else assert.fail('one line has room')
  }
  const found = new Map<string, string>()
  const counted = new Map<string, number[]>()
  const scratch = createScratch()
  const takeOut = (batch: Awaited<ReturnType<typeof buffer.take>>, project: string) => {
    const add = (time: number) => counted.set(project, [...(counted.get(project) ?? []), time])
    const { bytes, count } = batch.takeOut(project, add, scratch)
    found.set(project, (found.get(project) ?? '') + bytes.toString('utf8'))
    return count
  }
  for (let index = 0; index < 5_000; index += 1) add(index)
  // One of them is asked for before its run, and again while more comes.
  assert.ok(takeOut(await buffer.sort(), 'prj_0') > 0)
  assert.equal(takeOut(await buffer.sort(), 'prj_0'), 0)
  for (let index = 5_000; index < 9_000; index += 1) add(index)
  assert.ok(takeOut(await buffer.sort(), 'prj_0') > 0)
  const taking = buffer.take()
  assert.equal(buffer.waiting, 0)
  for (let index = 9_000; index < 12_000; index += 1) add(index)
  for (const batch of [await taking, await buffer.take()]) {
    for (const project of batch.projects) takeOut(batch, project)
    batch.release()
  }
  assert.deepEqual([...found].toSorted(), [...given].map(([project, lines]) => [project, lines.join('')]).toSorted())
  assert.deepEqual([...counted].toSorted(), [...facts].toSorted())
  assert.deepEqual((await buffer.take()).projects, [])
})

test('what is fresh is answered once, no matter what waits beside it', async () => {
  const buffer = createWriteBuffer(Number.POSITIVE_INFINITY)
  const line = `{"text":"${'x'.repeat(990)}"}\n`
  const bytes = () => Buffer.concat(buffer.fresh()).toString()
  let expected = ''
  for (let index = 0; index < 700; index += 1) {
    buffer.add('prj_shop', line, 1, 200, 1, 1)
    expected += `@prj_shop\n${line}`
    if (index % 90 !== 0) continue
    assert.equal(bytes(), expected)
    expected = ''
  }
  assert.equal(bytes(), expected)
  assert.equal(bytes(), '')
  const batch = await buffer.take()
  buffer.add('prj_shop', line, 1, 200, 1, 1)
  assert.equal(bytes(), `@prj_shop\n${line}`)
  batch.release()
})

test('notes are handed over together, soon, and at once when there are many', async () => {
  const delivered: { readonly text: string; readonly count: number }[] = []
  const deliver = ({ bytes, facts }: Lines) =>
    void delivered.push({ text: bytes.toString(), count: facts.length / factsOfLine })
  const recorder = createRecorder(deliver, { within: 10 })
  recorder.note(note())
  recorder.note(note({ project: 'prj_other' }))
  recorder.note(note())
  assert.equal(delivered.length, 0)
  await until(() => delivered.length === 1, 'the notes are handed over')
  assert.equal(delivered[0]?.count, 3)
  assert.match(delivered[0].text, /^@prj_shop\n\{.+\}\n@prj_other\n\{.+\}\n@prj_shop\n\{.+\}\n$/)
  for (let index = 0; index < 1_000; index += 1) recorder.note(note())
  assert.ok(delivered.length >= 2)
  recorder.flush()
  assert.equal(
    delivered.reduce((sum, { count }) => sum + count, 0),
    1_003,
  )
})

test('a histogram knows percentiles at most five percent off, from a part of a millisecond to hours', () => {
  for (const scale of [0.0005, 0.02, 3, 2_000]) {
    const histogram = createHistogram()
    const other = createHistogram()
    for (let index = 1; index <= 1_000; index += 1) (index % 2 ? histogram : other).add((scale * index) / 1_000)
    histogram.merge(other.sparse())
    for (const part of [0.5, 0.95, 0.99]) {
      const counted = histogram.percentile(part)!
      assert.ok(Math.abs(counted / (scale * part) - 1) < 0.05, `${counted} for ${scale * part}`)
    }
  }
  assert.equal(createHistogram().percentile(0.5), null)
})

test('minutes add up to any step, the running one too, and are the same after a restart', async (t) => {
  const { log, folder, add, at } = await openLog(t)
  add({ status: 200, bytes: 10, seconds: 0.1 }, { status: 302, bytes: 0 }, { status: 404, bytes: 5 }, { status: 500 })
  at(noon + 60_000)
  add({ status: 200, seconds: 1 }, { status: 101, seconds: 9_000 })
  const from = noon / 1000
  const query = { from, to: from + 180, step: 60 }
  const running = await log.traffic('prj_shop', query)
  assert.deepEqual(
    running.items.map(({ time, requests }) => [time, requests]),
    [
      ['2026-03-01T12:00:00.000Z', 4],
      ['2026-03-01T12:01:00.000Z', 2],
      ['2026-03-01T12:02:00.000Z', 0],
    ],
  )
  const [first, second, third] = running.items
  assert.deepEqual([first?.status2xx, first?.status3xx, first?.status4xx, first?.status5xx], [1, 1, 1, 1])
  assert.equal(first?.bytes, 115)
  // A WebSocket that was open for hours is no slow answer.
  assert.ok(Math.abs(second!.p99! - 1) < 0.05)
  assert.equal(third?.p50, null)
  assert.equal(running.total.requests, 6)

  await log.close()
  const next = createAccessLog({ folder, bytes: 1e6, days: 14, onError: assert.fail })
  t.after(() => next.close())
  assert.deepEqual(await next.traffic('prj_shop', query), running)
  const whole = await next.traffic('prj_shop', { from: from - 86_400, to: from + 86_400, step: 3_600 })
  assert.equal(whole.items.length, 48)
  assert.deepEqual(whole.total, running.total)
})

test('viewers of a share are counted by address and program; a client that a rule turned away is none', async (t) => {
  const { log, add, at } = await openLog(t)
  const share = { share: 'shr_1', via: 'share' } as const
  add(
    { ...share, client: '192.0.2.1' },
    { ...share, client: '192.0.2.1' },
    { ...share, client: '192.0.2.9', by: 'share', status: 401 },
  )
  at(noon + 5_000)
  add({ ...share, client: '192.0.2.1', userAgent: 'other' }, { client: '192.0.2.3' }, { ...share, share: 'shr_2' })
  assert.deepEqual((await log.viewers('prj_shop', 'shr_1')).items, [
    {
      address: '192.0.2.1',
      userAgent: 'other',
      first: '2026-03-01T12:00:05.000Z',
      last: '2026-03-01T12:00:05.000Z',
      requests: 1,
    },
    {
      address: '192.0.2.1',
      userAgent: 'test',
      first: '2026-03-01T12:00:00.000Z',
      last: '2026-03-01T12:00:00.000Z',
      requests: 2,
    },
  ])
  // Asked again, only what was added is read; two who ask at once count nothing twice.
  add({ ...share, client: '192.0.2.1' })
  const [one, two] = await Promise.all([log.viewers('prj_shop', 'shr_1'), log.viewers('prj_shop', 'shr_1')])
  assert.deepEqual(one, two)
  assert.deepEqual(
    one.items.map(({ userAgent, requests }) => [userAgent, requests]),
    [
      ['test', 3],
      ['other', 1],
    ],
  )
  add(...Array.from({ length: 600 }, (_, index) => ({ ...share, client: `10.0.${index >> 8}.${index & 255}` })))
  const many = (await log.viewers('prj_shop', 'shr_1')).items
  assert.equal(many.length, 500)
  assert.equal(many[0]?.address, '10.0.2.87')
})

test('old lines go, those without a project go after a day, and those of a deleted project go at once', async (t) => {
  const { log, folder, add, at } = await openLog(t)
  add({}, { project: 'prj_gone' }, { project: 'prj_deleted' })
  for (const project of ['prj_shop', 'prj_gone', 'prj_deleted']) await log.list(project, {})
  await log.forget('prj_deleted')
  assert.deepEqual((await readdir(folder)).sort(), ['prj_gone', 'prj_shop'])

  const kept = new Set(['prj_shop'])
  const now = Date.now()
  at(now)
  await log.sweep(kept)
  assert.deepEqual((await readdir(folder)).sort(), ['prj_gone', 'prj_shop'])
  // A project that came back and went again waits anew.
  at(now + 23 * 3_600_000)
  await log.sweep(new Set([...kept, 'prj_gone']))
  await log.sweep(kept)
  at(now + 26 * 3_600_000)
  await log.sweep(kept)
  assert.deepEqual((await readdir(folder)).sort(), ['prj_gone', 'prj_shop'])
  at(now + 48 * 3_600_000)
  await log.sweep(kept)
  assert.deepEqual(await readdir(folder), ['prj_shop'])

  const old = join(folder, 'prj_shop', '00000001.jsonl')
  await writeFile(join(folder, 'prj_shop', 'traffic-2026-01-01.jsonl'), '')
  const past = new Date(now - 20 * 24 * 3_600_000)
  await utimes(old, past, past)
  await log.sweep(kept)
  assert.deepEqual(await readdir(join(folder, 'prj_shop')), [])
})

test('no id leads out of the folder, and queries say what is wrong with them', async (t) => {
  for (const project of ['', '..', 'a/b', '../../etc', 'A', 'x'.repeat(61), 'a.b', 'a\0']) {
    assert.throws(() => readProject(new URLSearchParams({ project })), QueryError, project)
  }
  const wrong = { limit: '0', status: '7xx', before: '../1', since: 'yesterday' }
  for (const [name, value] of Object.entries(wrong)) {
    assert.throws(() => readAccessQuery(new URLSearchParams({ [name]: value })), QueryError, name)
  }
  for (const [from, to, step] of [
    [0, 60, 59],
    [60, 60, 60],
    [0, 60 * 2_001, 60],
    [0.5, 60, 60],
  ]) {
    const parameters = { from: String(from), to: String(to), step: String(step) }
    assert.throws(() => readTrafficQuery(new URLSearchParams(parameters)), QueryError, JSON.stringify(parameters))
  }
  const { log, folder } = await openLog(t)
  await mkdir(join(folder, 'x'), { recursive: true })
  const page = new LinePage(1_000)
  page.add('../x', '{}\n', noon, 200, 1, 1)
  log.record(page)
  await log.close()
  assert.deepEqual(await readdir(folder), ['x'])
})

test('requests through the proxy are in its log and its statistics, over the control socket', async (t) => {
  const upstream = await httpUpstream(t, (request, response) => {
    response.statusCode = request.url === '/missing' ? 404 : 200
    response.end('hello')
  })
  const { port, control } = await proxyTo(t, upstreamAt(upstream))
  await ask(port, { path: '/first?token=1', headers: { 'user-agent': 'tester' } })
  await ask(port, { path: '/missing' })
  await ask(port, { host: 'nobody.localhost' })
  let found = await control.access('prj_shop', {})
  await until(async () => {
    found = await control.access('prj_shop', {})
    return found.items.length === 2
  }, 'both requests are noted')
  const [second, first] = found.items
  assert.equal(second?.status, 404)
  assert.equal(first?.path, '/first')
  assert.equal(first?.status, 200)
  assert.equal(first?.bytes, 5)
  assert.equal(first?.host, 'shop.localhost')
  assert.equal(first?.client, '127.0.0.1')
  assert.equal(first?.userAgent, 'tester')
  assert.equal(first?.via, 'domain')
  assert.equal(first?.by, null)
  assert.ok(first!.seconds > 0 && first!.seconds < 30)

  const now = Math.floor(Date.now() / 60_000) * 60
  const traffic = await control.traffic('prj_shop', { from: now - 600, to: now + 120, step: 60 })
  assert.equal(traffic.total.requests, 2)
  assert.equal(traffic.total.status4xx, 1)
  const [counted, ...others] = (await control.totals())!.projects
  assert.deepEqual([counted?.project, counted?.classes, others], ['prj_shop', [0, 1, 0, 1, 0], []])
  assert.ok(counted!.seconds > 0 && counted!.seconds < 60 && counted!.bytes >= 5)
  assert.deepEqual((await control.viewers('prj_shop', 'shr_none')).items, [])
  await assert.rejects(control.access('../x', {}), { code: 'query_invalid' })
  await control.forgetAccess('prj_shop')
  assert.deepEqual((await control.access('prj_shop', {})).items, [])
  assert.deepEqual(await control.totals(), { projects: [] })
})
