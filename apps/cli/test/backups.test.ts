import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Backup, BackupScheduleView } from '@stackquay/contract'
import { scratch, stq } from './run-stq.ts'
import { emptyPlan, operation, project, standIn, step } from './stand-in.ts'

const id = 'bak_01m7x1001nzn07vcmqy9nx'
/** Clears the screen, and renames the window. */
const nasty = '\x1b[2J\x1b]0;owned\x07'

function backup(rest: Partial<Backup> = {}): Backup {
  return {
    id,
    project: { id: 'prj_1', slug: 'shop', name: 'Shop', deleted: false },
    engine: 'native',
    createdAt: '2026-01-01T00:00:00.000Z',
    note: `Before the sale${nasty}`,
    source: 'manual',
    sizeBytes: 27_000_000,
    parts: [
      {
        id: 'database:main',
        title: 'PostgreSQL main',
        type: 'postgresql',
        version: '18.1',
        method: 'online',
        bytes: 27_000_000,
        contentBytes: 90_000_000,
        sha256: 'a'.repeat(64),
        takenAt: '2026-01-01T00:00:00.000Z',
        warnings: [`a file changed${nasty}`],
      },
    ],
    copies: [],
    verified: null,
    opensHere: true,
    ...rest,
  }
}

const ended = operation({ state: 'succeeded', steps: [step('main', 'succeeded')], finishedAt: '2026-01-01T00:00:04Z' })
const page = (items: readonly Backup[], nextCursor: string | null = null) => ({ items, nextCursor })
const shop = (_call: unknown, response: import('node:http').ServerResponse) => {
  response.writeHead(200, { 'content-type': 'application/json', etag: '"7"' }).end(JSON.stringify(project()))
}

test('against a stand-in: backups are listed page by page, and what others wrote steers no terminal', async () => {
  const other = backup({
    id: `${id}2`,
    note: null,
    verified: { at: '2026-01-01T00:00:00Z', outcome: 'whole', seconds: 4, checks: [] },
  })
  await using service = await standIn({
    'GET /projects/shop/backups': ({ query }) => (query.has('cursor') ? page([other]) : page([backup()], 'next')),
  })
  const human = await stq(['backup', 'shop'], { url: service.url })
  assert.match(
    human.stdout,
    /^BACKUP +MADE +SIZE +PARTS +VERIFIED +NOTE\nbak_\w+ +.* ago +27 MB +1 +never +Before the sale\n/,
  )
  assert.match(human.stdout, /\nbak_\w+2 .* whole, .* ago/)
  assert.doesNotMatch(human.stdout, /[\x00-\x08\x0b-\x1f]|owned/)
  const one = await stq(['backup', 'list', 'shop', '-n', '1', '--quiet'], { url: service.url })
  assert.equal(one.stdout, `${id}\n`)
})

test('against a stand-in: create waits for the end and prints the id alone', async () => {
  await using service = await standIn({
    'POST /projects/shop/backups': () => operation(),
    'GET /operations/op_1': () => ended,
    'GET /projects/shop/backups': () => page([backup()]),
    [`GET /projects/shop/backups/${id}`]: () => backup(),
  })
  const { stdout, stderr, code } = await stq(
    ['backup', 'create', 'shop', '--part', 'files', '--part', 'database:main', '--note', 'x'],
    {
      url: service.url,
    },
  )
  assert.deepEqual([code, stdout], [0, `${id}\n`], stderr)
  assert.deepEqual(service.calls[0]!.body, { note: 'x', parts: ['files', 'database:main'] })
  assert.ok(service.calls[0]!.headers['idempotency-key'])
})

test('against a stand-in: verify ends with exit code 1 unless the backup was found whole', async () => {
  const check = { part: 'database:main', check: 'tables', ok: false, detail: '11 tables, 12 were counted' }
  let outcome: 'whole' | 'faulty' = 'whole'
  await using service = await standIn({
    'GET /projects/shop/backups': () => page([backup()]),
    [`POST /projects/shop/backups/${id}/verify`]: () => operation(),
    'GET /operations/op_1': () => ended,
    [`GET /projects/shop/backups/${id}`]: () =>
      backup({ verified: { at: '2026-01-01T00:00:00Z', outcome, seconds: 4, checks: [check] } }),
  })
  assert.equal((await stq(['backup', 'verify', 'shop'], { url: service.url })).code, 0)
  outcome = 'faulty'
  const { code, stdout, stderr } = await stq(['backup', 'verify', 'shop', 'latest'], { url: service.url })
  assert.equal(code, 1)
  assert.match(stdout, /database:main +tables +fault +11 tables, 12 were counted/)
  assert.match(stderr, /is not shown to be whole/)
})

test('against a stand-in: restore shows what it replaces, needs the slug typed, and holds the state that was shown', async () => {
  await using service = await standIn({
    'GET /projects/shop': shop,
    'GET /projects/shop/backups': () => page([backup()]),
    [`POST /projects/shop/backups/${id}/restore`]: ({ query }) =>
      query.has('dryRun') ? { plan: emptyPlan } : operation(),
    'GET /operations/op_1': () => ended,
  })
  const unconfirmed = await stq(['backup', 'restore', 'shop'], { url: service.url })
  assert.equal(unconfirmed.code, 2)
  assert.match(unconfirmed.stderr, /--confirm shop/)
  assert.deepEqual(service.lines(), ['GET /projects/shop'])
  const { code, stderr } = await stq(['backup', 'restore', 'shop', 'latest', '--confirm', 'shop', '--part', 'files'], {
    url: service.url,
  })
  assert.equal(code, 0, stderr)
  const [plan, done] = service.calls.filter(({ method }) => method === 'POST')
  assert.equal(plan!.query.get('dryRun'), 'true')
  assert.deepEqual([done!.body, done!.headers['if-match']], [{ confirm: 'shop', parts: ['files'] }, '"7"'])
  assert.match(stderr, /✔ shop is restored/)
})

test('against a stand-in: a backup by its id alone is looked for in all projects, deleted ones too', async () => {
  await using service = await standIn({
    [`GET /backups/${id}`]: () =>
      backup({ project: { id: 'prj_1', slug: 'shop', name: 'Shop', deleted: true }, opensHere: false }),
    [`DELETE /backups/${id}`]: (_call, response) => void response.writeHead(204).end(),
  })
  const { stdout } = await stq(['backup', 'show', id], { url: service.url })
  assert.match(stdout, /\nProject +shop \(deleted\)\n/)
  assert.match(stdout, /another secret key/)
  assert.doesNotMatch(stdout, /owned/)
  assert.equal((await stq(['backup', 'delete', id], { url: service.url })).code, 2)
  assert.equal((await stq(['backup', 'delete', id, '--yes'], { url: service.url })).code, 0)
})

test('against a stand-in: a download that breaks off leaves no file, and a whole one is uploaded byte for byte', async () => {
  await using folder = await scratch()
  let breaks = true
  const archive = Buffer.from([...'archive'].map((letter) => letter.charCodeAt(0) | 0x80))
  await using service = await standIn({
    [`GET /backups/${id}/download`]: (_call, response) => {
      response.writeHead(200, { 'content-type': 'application/x-tar', 'content-length': archive.length })
      if (!breaks) response.end(archive)
      else response.write(archive.subarray(0, 3), () => response.destroy())
    },
  })
  const file = join(folder.path, 'shop.tar')
  const broken = await stq(['backup', 'download', id, '-o', file], { url: service.url })
  assert.equal(broken.code, 6)
  await assert.rejects(readFile(file))
  breaks = false
  assert.equal((await stq(['backup', 'download', id, '-o', file], { url: service.url })).code, 0)
  assert.deepEqual(await readFile(file), archive)
})

test('an upload sends the file as it is, and one that cannot be read sends nothing', async () => {
  const { createServer } = await import('node:http')
  await using folder = await scratch()
  const bytes = Buffer.alloc(300_000, 0xe9)
  const got: { type: string | undefined; length: string | undefined; body: Buffer }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    got.push({
      type: request.headers['content-type'],
      length: request.headers['content-length'],
      body: Buffer.concat(chunks),
    })
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(backup()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    const file = join(folder.path, 'shop.tar')
    const missing = await stq(['backup', 'upload', file], { url })
    assert.equal(missing.code, 2)
    await writeFile(file, bytes)
    const { code, stdout, stderr } = await stq(['backup', 'upload', file], { url })
    assert.deepEqual([code, stdout], [0, `${id}\n`], stderr)
    assert.equal(got.length, 1)
    assert.deepEqual([got[0]!.type, got[0]!.length], ['application/x-tar', String(bytes.length)])
    assert.ok(got[0]!.body.equals(bytes))
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

const schedule: BackupScheduleView = {
  cron: '30 2 * * *',
  timezone: 'Europe/Berlin',
  keep: { last: 7, daily: 7, weekly: 4, monthly: 6 },
  verify: 'always',
  nextAt: '2026-01-02T01:30:00.000Z',
  dueAt: null,
  lastBackupAt: null,
  late: true,
  problem: `The disk is full.${nasty}`,
  targets: ['tgt_1'],
  keepOnTargets: { last: 3, daily: 2, weekly: 1, monthly: 0 },
  copies: [
    {
      target: 'tgt_1',
      name: `Offsite${nasty}`,
      state: 'incomplete',
      at: '2026-01-01T00:00:00.000Z',
      late: true,
      problem: `No room.${nasty}`,
      keepProblem: `Refused.${nasty}`,
    },
  ],
}

test('against a stand-in: a schedule keeps what is not named, and says when it is late and why', async () => {
  const sent: unknown[] = []
  await using service = await standIn({
    'GET /projects/shop/backup-schedule': () => ({ schedule }),
    'PUT /projects/shop/backup-schedule': ({ body }) => {
      sent.push(body)
      return { schedule }
    },
  })
  const shown = await stq(['backup', 'schedule', 'show', 'shop'], { url: service.url })
  assert.match(
    shown.stdout,
    /30 2 \* \* \* \(Europe\/Berlin\)[\s\S]*none yet[\s\S]*Late[\s\S]*The disk is full\.[\s\S]*Offsite: incomplete, .* ago, late, No room\., old copies stay: Refused\./,
  )
  assert.doesNotMatch(shown.stdout, /[\x00-\x08\x0b-\x1f]|owned/)
  const set = ['backup', 'schedule', 'set', 'shop', '0 4 * * *', '--keep-last', '3']
  assert.equal((await stq(set, { url: service.url })).code, 0)
  const { timezone, verify, keep, targets, keepOnTargets } = schedule
  const kept = { ...keep, last: 3 }
  assert.deepEqual(sent, [{ cron: '0 4 * * *', timezone, verify, targets, keepOnTargets, keep: kept }])
  for (const wrong of [
    ['--keep-last', '0'],
    ['--verify', 'often'],
  ]) {
    const refused = await stq(['backup', 'schedule', 'set', 'shop', '0 4 * * *', ...wrong], { url: service.url })
    assert.equal(refused.code, 2, refused.stderr)
  }
  assert.equal(sent.length, 1)
})

test('against a stand-in: targets of a schedule are named by name or id, and taken out together', async () => {
  const sent: (readonly string[])[] = []
  await using service = await standIn({
    'GET /projects/shop/backup-schedule': () => ({ schedule }),
    'GET /backup-targets': () => ({
      items: [
        { id: 'tgt_1', name: 'Offsite' },
        { id: 'tgt_2', name: 'Cellar' },
      ],
    }),
    'PUT /projects/shop/backup-schedule': ({ body }) => {
      sent.push((body as { targets: string[] }).targets)
      return { schedule }
    },
  })
  const set = (...flags: string[]) =>
    stq(['backup', 'schedule', 'set', 'shop', '0 4 * * *', ...flags], { url: service.url })
  assert.equal((await set('--target', 'Cellar', '--target', 'tgt_1', '--target', 'tgt_2')).code, 0)
  assert.equal((await set('--no-copies')).code, 0)
  assert.deepEqual(sent, [['tgt_2', 'tgt_1'], []])
  const unknown = await set('--target', 'Attic')
  assert.match(unknown.stderr, /There is no backup target "Attic"/)
  assert.equal((await set('--target', 'Cellar', '--no-copies')).code, 2)
  assert.equal(sent.length, 2)
})

test('against a stand-in: how many copies stay on targets is named by itself, on what was there, or not at all', async () => {
  const sent: unknown[] = []
  let before: object | null = { ...schedule, keepOnTargets: null }
  await using service = await standIn({
    'GET /projects/shop/backup-schedule': () => ({ schedule: before }),
    'PUT /projects/shop/backup-schedule': ({ body }) => {
      sent.push((body as { keepOnTargets?: unknown }).keepOnTargets)
      return { schedule }
    },
  })
  const set = (...flags: string[]) =>
    stq(['backup', 'schedule', 'set', 'shop', '0 4 * * *', ...flags], { url: service.url })
  await set()
  await set('--target-keep-last', '5')
  before = schedule
  await set('--target-keep-weekly', '8')
  await set('--target-keep-all')
  const { keepOnTargets } = schedule
  assert.deepEqual(sent, [
    undefined,
    { last: 5, daily: 0, weekly: 0, monthly: 0 },
    { ...keepOnTargets, weekly: 8 },
    null,
  ])
  assert.equal((await set('--target-keep-all', '--target-keep-last', '1')).code, 2)
  assert.equal((await set('--target-keep-last', '0')).code, 2)
  assert.equal(sent.length, 4)
})

test('against a stand-in: a new schedule is in the time zone of the machine, with the service’s defaults', async () => {
  const sent: unknown[] = []
  await using service = await standIn({
    'GET /projects/shop/backup-schedule': () => ({ schedule: null }),
    'PUT /projects/shop/backup-schedule': ({ body }) => {
      sent.push(body)
      return { schedule }
    },
    'DELETE /projects/shop/backup-schedule': (_call, response) => void response.writeHead(204).end(),
  })
  assert.match((await stq(['backup', 'schedule', 'show', 'shop'], { url: service.url })).stdout, /shop has no schedule/)
  await stq(['backup', 'schedule', 'set', 'shop', '0 4 * * *'], { url: service.url })
  assert.deepEqual(sent, [{ timezone: Intl.DateTimeFormat().resolvedOptions().timeZone, keep: {}, cron: '0 4 * * *' }])
  const cleared = await stq(['backup', 'schedule', 'clear', 'shop', '--json'], { url: service.url })
  assert.deepEqual([cleared.code, JSON.parse(cleared.stdout)], [0, { schedule: null }])
})
