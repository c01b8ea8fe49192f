import assert from 'node:assert/strict'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { AuditEntry, AuditState } from '@stackquay/contract'
import { scratch, stq } from './run-stq.ts'
import { answerProblem, problem, standIn } from './stand-in.ts'

function entry(seq: number, rest: Partial<AuditEntry> = {}): AuditEntry {
  return {
    seq,
    id: `aud_${seq}`,
    time: '2026-01-01T08:00:00.123Z',
    actor: 'ada (token: ci)',
    action: 'project.start',
    target: 'shop',
    project: 'prj_1',
    outcome: 'success',
    changes: null,
    requestId: 'req_1',
    operationId: null,
    source: 'cli',
    ip: '127.0.0.1',
    userAgent: null,
    prevHash: '0',
    hash: '1',
    ...rest,
  }
}

function state(rest: Partial<AuditState> = {}): AuditState {
  const time = '2026-01-01T08:00:00Z'
  return {
    ok: true,
    entries: 7,
    firstBroken: null,
    reason: null,
    checkpoint: { seq: 6, time },
    checkedAt: time,
    ...rest,
  }
}

test('against a stand-in: audit lists entries newest first, with the filters that were asked for', async () => {
  await using service = await standIn({
    'GET /audit': () => ({ items: [entry(2, { outcome: 'denied', target: null }), entry(1)], nextCursor: null }),
  })
  const filters = ['--actor', 'ada', '--action', 'project.start', '--project', 'shop', '--outcome', 'denied']
  const times = ['--since', '2026-01-01T00:00:00Z', '--until', '2026-01-02T00:00:00Z']
  const { code, stdout } = await stq(['audit', ...filters, ...times, '--limit', '9'], { url: service.url })
  assert.equal(code, 0)
  assert.match(
    stdout,
    /^ENTRY {2}TIME .*WHO .*ACTION .*TARGET\n2 +2026-01-01T08:00:00Z +▲ denied +ada \(token: ci\) +project\.start +cli +-\n1 .*✔ success .*shop\n$/,
  )
  assert.deepEqual(Object.fromEntries(service.calls[0]!.query), {
    actor: 'ada',
    action: 'project.start',
    project: 'shop',
    outcome: 'denied',
    since: '2026-01-01T00:00:00.000Z',
    until: '2026-01-02T00:00:00.000Z',
    limit: '9',
  })
  const quiet = await stq(['audit', '--quiet'], { url: service.url })
  assert.equal(quiet.stdout, 'aud_2\naud_1\n')
})

test('against a stand-in: a limit above one page reads as many pages as it needs', async () => {
  await using service = await standIn({
    'GET /audit': ({ query }) => {
      const from = Number(query.get('cursor') ?? 500)
      const count = Number(query.get('limit'))
      return { items: Array.from({ length: count }, (_, at) => entry(from - at)), nextCursor: String(from - count) }
    },
  })
  const { stdout } = await stq(['audit', '--json', '--limit', '250'], { url: service.url })
  const { items } = JSON.parse(stdout) as { items: AuditEntry[] }
  assert.deepEqual([items.length, items[0]?.seq, items.at(-1)?.seq], [250, 500, 251])
  assert.deepEqual(
    service.calls.map(({ query }) => query.get('limit')),
    ['200', '50'],
  )
})

test('against a stand-in: audit verify says that nothing was changed, with exit code 0', async () => {
  await using service = await standIn({ 'GET /audit/verify': () => state() })
  const { code, stdout } = await stq(['audit', 'verify'], { url: service.url })
  assert.deepEqual(
    [code, stdout],
    [0, '✔ All 7 entries are as they were written. The signed checkpoint vouches up to entry 6.\n'],
  )
})

test('against a stand-in: audit verify of a broken chain names the entry and ends with exit code 1', async () => {
  await using service = await standIn({
    'GET /audit/verify': () => state({ ok: false, firstBroken: 4, reason: 'Entry 4 was changed.' }),
  })
  const { code, stdout } = await stq(['audit', 'verify', '--quiet'], { url: service.url })
  assert.equal(code, 1)
  assert.match(stdout, /broken at entry 4\.\n {2}Entry 4 was changed\./)
  const json = await stq(['audit', 'verify', '--json'], { url: service.url })
  assert.deepEqual([json.code, JSON.parse(json.stdout).firstBroken], [1, 4])
})

const lines = Array.from({ length: 3000 }, (_, seq) => `${JSON.stringify(entry(seq))}\n`).join('')

test('against a stand-in: audit export writes to standard output as it comes, byte for byte', async () => {
  await using service = await standIn({
    'GET /audit/export': (_call, response) => {
      response.writeHead(200, { 'content-type': 'application/jsonl' })
      for (let at = 0; at < lines.length; at += 5000) response.write(lines.slice(at, at + 5000))
      response.end()
    },
  })
  const { code, stdout } = await stq(['audit', 'export', '--actor', 'ada'], { url: service.url })
  assert.equal(code, 0)
  assert.ok(stdout === lines)
  assert.deepEqual(Object.fromEntries(service.calls[0]!.query), { format: 'jsonl', actor: 'ada' })
})

test('against a stand-in: audit export -o writes a file that only its owner reads', async () => {
  await using folder = await scratch()
  await using service = await standIn({
    'GET /audit/export': (_call, response) => {
      response.writeHead(200, { 'content-type': 'text/csv' }).end('seq,id\r\n1,aud_1\r\n')
    },
  })
  const args = ['audit', 'export', '--format', 'csv', '-o', 'audit.csv']
  const { code, stdout, stderr } = await stq(args, { url: service.url, cwd: folder.path })
  assert.deepEqual([code, stdout, stderr], [0, '', '✔ audit.csv is written, 17 bytes\n'])
  assert.equal(await readFile(join(folder.path, 'audit.csv'), 'utf8'), 'seq,id\r\n1,aud_1\r\n')
  assert.equal((await stat(join(folder.path, 'audit.csv'))).mode & 0o777, 0o600)
})

test('against a stand-in: an export that breaks off or is refused leaves no file that looks whole', async () => {
  await using folder = await scratch()
  await using service = await standIn({
    'GET /audit/export': ({ query }, response) => {
      if (query.get('format') === 'csv') return answerProblem(response, problem(403, 'scope_insufficient'))
      response
        .writeHead(200, { 'content-type': 'application/jsonl' })
        .write(lines.slice(0, 5000), () => response.destroy())
    },
  })
  const options = { url: service.url, cwd: folder.path }
  const broken = await stq(['audit', 'export', '-o', 'audit.jsonl'], options)
  assert.equal(broken.code, 6)
  assert.match(broken.stderr, /^✖ The export broke off before its end\.\n/)
  const refused = await stq(['audit', 'export', '-o', 'audit.jsonl', '--format', 'csv'], options)
  assert.deepEqual([refused.code, refused.stdout], [3, ''])
  assert.deepEqual(await readdir(folder.path), [])
})

for (const args of [
  ['--since', 'yesterday'],
  ['--outcome', 'odd'],
  ['--limit', '0'],
  ['export', '--format', 'xml'],
]) {
  test(`2: "stq audit ${args.join(' ')}" is a mistake in the command line`, async () => {
    const { code, stdout, stderr } = await stq(['audit', ...args], { url: 'http://127.0.0.1:1' })
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^✖ \S/)
  })
}
