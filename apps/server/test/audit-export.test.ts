import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { AuditEntry } from '@stackquay/contract'
import type { NewAuditEntry } from '@stackquay/store'
import { bearer, openTestHttpApp, type TestHttpApp } from './http-support.ts'

const entry: NewAuditEntry = {
  actor: 'ada',
  action: 'project.start',
  target: 'shop',
  project: null,
  outcome: 'success',
  changes: null,
  requestId: null,
  operationId: null,
  source: 'api',
  ip: null,
  userAgent: null,
}

async function withEntries(http: TestHttpApp, entries: readonly Partial<NewAuditEntry>[]) {
  await http.store.transaction(async (tx) => {
    for (const one of entries) await tx.audit.append({ ...entry, ...one })
  })
  const { value } = await http.token()
  return (query = '') => http.app.inject({ url: `/api/v1/audit/export${query}`, headers: bearer(value) })
}

const lines = (body: string) =>
  body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditEntry)

test('JSON Lines hold every entry, oldest first, with a chain that anybody can follow', async (t) => {
  const http = await openTestHttpApp(t)
  const many = Array.from({ length: 1234 }, (_, index) => ({
    target: `nümber ${index}`,
    changes: { after: { b: index, a: [1] } },
  }))
  const answer = await (await withEntries(http, many))()
  assert.equal(answer.statusCode, 200)
  assert.equal(answer.headers['content-type'], 'application/jsonl; charset=utf-8')
  assert.match(String(answer.headers['content-disposition']), /^attachment; filename="stackquay-audit-[\d-]+\.jsonl"$/)
  const entries = lines(answer.body)
  assert.deepEqual(
    entries.map(({ seq }) => seq),
    Array.from({ length: 1235 }, (_, index) => index + 1),
  )
  let before = '0'.repeat(64)
  for (const { hash, prevHash, ...rest } of entries) {
    assert.equal(prevHash, before)
    assert.equal(createHash('sha256').update(prevHash).update(canonical(rest)).digest('hex'), hash)
    before = hash
  }
})

test('the same filters as in the list, and the export itself is recorded but not in it', async (t) => {
  const http = await openTestHttpApp(t)
  const ask = await withEntries(http, [{ actor: 'grace' }, { actor: 'grace (token: ci)', outcome: 'denied' }, {}])
  assert.deepEqual(
    lines((await ask('?actor=grace')).body).map(({ actor }) => actor),
    ['grace', 'grace (token: ci)'],
  )
  assert.equal(lines((await ask('?actor=grace&outcome=denied')).body).length, 1)
  assert.equal((await ask('?q=nowhere')).body, '')
  assert.equal((await ask('?format=xml')).statusCode, 400)
  const [own] = await http.store.audit.list({ limit: 1 })
  assert.deepEqual([own?.action, own?.changes], ['audit.export', { format: 'jsonl', q: 'nowhere' }])
})

test('CSV is quoted as RFC 4180 says, and no cell is a formula', async (t) => {
  const http = await openTestHttpApp(t)
  const nasty = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '＝1', ' =1', 'a,b', 'a"b', 'a\r\nb', 'plain']
  const answer = await (
    await withEntries(
      http,
      nasty.map((target) => ({ target })),
    )
  )('?format=csv&action=project.start')
  assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8; header=present')
  const [head, ...rows] = parseCsv(answer.body)
  assert.deepEqual(head?.slice(0, 6), ['seq', 'id', 'time', 'actor', 'action', 'target'])
  assert.deepEqual(
    rows.map((row) => row[5]),
    ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", "'＝1", "' =1", 'a,b', 'a"b', 'a\r\nb', 'plain'],
  )
  assert.ok(rows.every((row) => row.length === head?.length))
})

test('a question by HEAD is answered without making the export', async (t) => {
  const http = await openTestHttpApp(t)
  await withEntries(http, [{}])
  const { value } = await http.token()
  const answer = await http.app.inject({ method: 'HEAD', url: '/api/v1/audit/export', headers: bearer(value) })
  assert.deepEqual([answer.statusCode, answer.body], [200, ''])
})

test('a reader who goes away in the middle ends the export, and the service goes on', async (t) => {
  const http = await openTestHttpApp(t)
  await withEntries(
    http,
    Array.from({ length: 5000 }, () => ({ changes: { after: 'x'.repeat(2000) } })),
  )
  const { value } = await http.token()
  const address = await http.listen()
  const leaving = new AbortController()
  const answer = await fetch(`${address}/api/v1/audit/export`, { headers: bearer(value), signal: leaving.signal })
  await answer.body!.getReader().read()
  leaving.abort()
  const health = await fetch(`${address}/api/v1/audit?limit=1`, { headers: bearer(value) })
  assert.equal(health.status, 200)
  assert.deepEqual(http.errors, [])
})

/** JSON with sorted keys: what the documentation says the hash is made over. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}

function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)!.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}
