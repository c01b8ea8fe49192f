import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { DatabaseImport } from '@stackquay/contract'
import { scratch, stq } from './run-stq.ts'
import { answerProblem, emptyPlan, operation, problem, standIn, step } from './stand-in.ts'

const databases = () => ({ items: [{ name: 'main', type: 'postgresql', version: '18', hostPort: 20_010 }] })
const path = '/projects/shop/databases/main'
const imported: DatabaseImport = {
  operation: operation(),
  dump: { format: 'sql', compression: 'none', bytes: 4, contentBytes: 4 },
  notes: [{ kind: 'database', text: 'DROP DATABASE other\x1b[2J', count: 7, lines: [1, 2, 3, 4, 5, 6, 7] }],
  backup: 'bak_01m7x1001nzn07vcmqy9nx',
}
const ended = operation({ state: 'succeeded', steps: [step('main', 'succeeded')], finishedAt: '2026-01-01T00:00:04Z' })

test('against a stand-in: an export goes to standard output byte for byte, or into a file that is whole', async () => {
  await using folder = await scratch()
  await using service = await standIn({
    'GET /projects/shop/databases': databases,
    [`GET ${path}/export`]: (_call, response) => void response.writeHead(200).end(Buffer.from([0, 255, 10, 128])),
  })
  const options = { url: service.url, cwd: folder.path, encoding: 'latin1' } as const
  const { code, stdout } = await stq(['db', 'export', 'shop'], options)
  assert.deepEqual([code, stdout], [0, '\x00\xff\n\x80'])
  await stq(['db', 'export', 'shop', 'main', '--format', 'custom', '--compress', 'zstd', '-o', 'shop.dump'], options)
  assert.deepEqual([...(await readFile(join(folder.path, 'shop.dump')))], [0, 255, 10, 128])
  assert.equal(service.calls.at(-1)?.query.toString(), 'format=custom&compress=zstd')
})

test('against a stand-in: an export that breaks off ends with an error, and leaves no file', async () => {
  await using folder = await scratch()
  await using service = await standIn({
    [`GET ${path}/export`]: (_call, response) => {
      response.writeHead(200).write('half')
      setTimeout(() => response.destroy(), 50)
    },
  })
  const options = { url: service.url, cwd: folder.path }
  const { code, stdout, stderr } = await stq(['db', 'export', 'shop', 'main'], options)
  assert.notEqual(code, 0)
  assert.equal(stdout, 'half')
  assert.match(stderr, /The export broke off before its end\.[\s\S]*incomplete/)
  assert.notEqual((await stq(['db', 'export', 'shop', 'main', '-o', 'shop.sql'], options)).code, 0)
  assert.deepEqual(await readdir(folder.path), [])
})

test('against a stand-in: an import is planned, sent as it comes, and tells what was left out', async () => {
  await using folder = await scratch()
  await using service = await standIn({
    'GET /projects/shop/databases': databases,
    [`POST ${path}/import`]: ({ query }) => (query.has('dryRun') ? { plan: emptyPlan } : imported),
    'GET /operations/op_1': () => ended,
  })
  const options = { url: service.url, cwd: folder.path }
  const { code, stdout, stderr } = await stq(['db', 'import', 'shop', '--append'], { ...options, input: '"the dump"' })
  assert.deepEqual([code, stdout], [0, ''], stderr)
  assert.match(stderr, /Left out: DROP DATABASE other \(lines 1, 2, 3, 4, 5, …; 7 times\)\n/)
  assert.match(stderr, /backed up first: bak_01m7x1001nzn07vcmqy9nx\n/)
  assert.doesNotMatch(stderr, /\x1b\[2J/)
  const sent = service.calls.filter(({ method }) => method === 'POST')
  assert.deepEqual(
    sent.map(({ query, body, headers }) => [query.toString(), body, headers['content-type']]),
    [
      ['mode=append&dryRun=true', null, 'application/octet-stream'],
      ['mode=append', 'the dump', 'application/octet-stream'],
    ],
  )
  await writeFile(join(folder.path, 'shop.sql'), '"from a file"')
  const json = await stq(
    ['db', 'import', 'shop', 'main', '-i', 'shop.sql', '--replace', '--confirm', 'main', '--json'],
    options,
  )
  assert.equal(json.code, 0, json.stderr)
  assert.equal(JSON.parse(json.stdout).operation.state, 'succeeded')
  assert.deepEqual([service.calls.findLast(({ method }) => method === 'POST')?.body], ['from a file'])
  assert.equal(service.calls.findLast(({ method }) => method === 'POST')?.query.toString(), 'mode=replace&confirm=main')
  const dry = await stq(['db', 'import', 'shop', '--append', '--dry-run'], { ...options, input: '1' })
  assert.deepEqual([dry.code, service.calls.at(-1)?.body], [0, 1])
})

test('against a stand-in: what the service refuses is told before the dump is sent', async () => {
  await using service = await standIn({
    [`POST ${path}/import`]: (_call, response) =>
      answerProblem(
        response,
        problem(422, 'validation_failed', { errors: [{ pointer: '?mode', code: 'required', detail: 'Say mode=…' }] }),
      ),
  })
  const { code, stderr } = await stq(['db', 'import', 'shop', 'main'], { url: service.url, input: '1' })
  assert.notEqual(code, 0)
  assert.match(stderr, /The database "main" is not empty\.[\s\S]*--append .* or --replace/)
  assert.deepEqual(
    service.calls.map(({ body }) => body),
    [null],
  )
  const unconfirmed = await stq(['db', 'import', 'shop', 'main', '--replace'], { url: service.url, input: '1' })
  assert.match(unconfirmed.stderr, /--confirm main/)
  assert.equal(service.calls.length, 1)
})
