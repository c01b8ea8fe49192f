import assert from 'node:assert/strict'
import { realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { scratch, stq } from './run-stq.ts'
import { answerProblem, emptyPlan, operation, problem, project, standIn, step } from './stand-in.ts'

const manifest = 'name: Shop\nenv:\n  A: "1"\n'
const ended = operation({ state: 'succeeded', steps: [step('ready', 'succeeded')], finishedAt: '2026-01-01T00:00:04Z' })
const plan = { plan: { ...emptyPlan, changes: [{ field: 'env.A', before: null, after: '1' }] } }

async function folderWithFile() {
  const folder = await scratch()
  await writeFile(join(folder.path, 'stackquay.yml'), manifest)
  return folder
}

async function serviceWith(path: string) {
  return standIn({
    'GET /projects': () => ({ items: [project({ path })], nextCursor: null }),
    'POST /projects/prj_1/manifest/plan': () => plan,
    'POST /projects/prj_1/manifest/apply': ({ query }) =>
      query.get('dryRun') === 'true' ? plan : project({ path, operation: operation() }),
    'GET /operations/op_1': () => ended,
  })
}

test('against a stand-in: plan shows what would be done and sends nothing else', async () => {
  await using folder = await folderWithFile()
  await using service = await serviceWith(await realpath(folder.path))
  const human = await stq(['plan'], { url: service.url, cwd: folder.path })
  assert.deepEqual([human.code, human.stdout], [0, 'Plan\n  + env.A: 1\n'], human.stderr)
  const json = await stq(['plan', folder.path, '--prune', '--json'], { url: service.url })
  assert.deepEqual(JSON.parse(json.stdout), plan)
  assert.deepEqual(service.calls.at(-1)!.body, { manifest, prune: true })
  assert.deepEqual(new Set(service.lines()), new Set(['GET /projects', 'POST /projects/prj_1/manifest/plan']))
})

test('against a stand-in: plan of a project that is not there plans its creation, and apply does not create it', async () => {
  await using folder = await folderWithFile()
  await using service = await standIn({
    'GET /projects': () => ({ items: [], nextCursor: null }),
    'POST /projects/from-manifest': () => plan,
  })
  const shown = await stq(['plan'], { url: service.url, cwd: folder.path })
  assert.equal(shown.stdout, 'Plan\n  + env.A: 1\n')
  assert.match(shown.stderr, /does not exist yet; "stq up" creates it/)
  assert.equal(service.calls.at(-1)!.query.get('dryRun'), 'true')
  const applied = await stq(['apply'], { url: service.url, cwd: folder.path })
  assert.equal(applied.code, 4)
  assert.match(applied.stderr, /There is no project of stackquay\.yml\.\n.*stq up/)
})

test('against a stand-in: apply shows the plan, changes the project, waits, and starts nothing', async () => {
  await using folder = await folderWithFile()
  await using service = await serviceWith(await realpath(folder.path))
  const { code, stdout, stderr } = await stq(['apply'], { url: service.url, cwd: folder.path })
  assert.deepEqual([code, stdout], [0, ''])
  assert.equal(stderr, 'Plan\n  + env.A: 1\n✔ Do ready 3.2 s\n✔ shop is as stackquay.yml says\n')
  const applies = service.calls.filter(({ path }) => path.endsWith('/apply'))
  assert.deepEqual(
    applies.map(({ body, query }) => [body, query.get('dryRun')]),
    [
      [{ manifest }, 'true'],
      [{ manifest }, null],
    ],
  )
  const count = service.calls.length
  const dry = await stq(['apply', '--dry-run'], { url: service.url, cwd: folder.path })
  assert.equal(dry.stdout, 'Plan\n  + env.A: 1\n')
  assert.ok(service.calls.slice(count).every(({ method, query }) => method === 'GET' || query.has('dryRun')))
})

test('against a stand-in: pruning needs a word of its own in scripts, with apply and with up', async () => {
  await using folder = await folderWithFile()
  const path = await realpath(folder.path)
  await using service = await serviceWith(path)
  for (const command of ['apply', 'up']) {
    const { code, stderr } = await stq([command, '--prune'], { url: service.url, cwd: folder.path })
    assert.equal(code, 2, command)
    assert.match(stderr, /removes what the file does not name\.\n.*--yes/)
  }
  const isReal = ({ path: where, query }: { path: string; query: URLSearchParams }) =>
    where.endsWith('/apply') && !query.has('dryRun')
  assert.ok(!service.calls.some(isReal))
  assert.equal((await stq(['apply', '--prune', '--yes'], { url: service.url, cwd: folder.path })).code, 0)
  assert.deepEqual(service.calls.find(isReal)!.body, { manifest, prune: true })
})

test('against a stand-in: apply shows where the file is wrong', async () => {
  await using folder = await folderWithFile()
  await using service = await standIn({
    'GET /projects': () => ({ items: [project({ path: folder.path })], nextCursor: null }),
    'POST /projects/prj_1/manifest/apply': (_call, response) =>
      answerProblem(
        response,
        problem(422, 'manifest_invalid', {
          errors: [{ pointer: '/env/A', code: 'invalid', detail: 'is not right.', line: 3, column: 3 }],
        }),
      ),
  })
  const { code, stderr } = await stq(['apply', '--project', 'prj_1'], { url: service.url, cwd: folder.path })
  // The project is named, so it is read; the stand-in has none of that id.
  assert.equal(code, 4, stderr)
  const found = await stq(['apply'], { url: service.url, cwd: folder.path })
  assert.equal(found.code, 1)
  assert.match(found.stderr, /stackquay\.yml:3:3 is not right\.\n/)
})

test('against a stand-in: manifest prints the file of a project, and its schema without a token', async () => {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }
  await using service = await standIn({
    'GET /projects/shop/manifest': () => ({ manifest }),
    'GET /stackquay.schema.json': () => schema,
  })
  assert.equal((await stq(['manifest', 'show', 'shop'], { url: service.url })).stdout, manifest)
  assert.equal((await stq(['manifest', 'shop'], { url: service.url })).stdout, manifest)
  assert.deepEqual(JSON.parse((await stq(['manifest', 'shop', '--json'], { url: service.url })).stdout), { manifest })
  const anonymous = await stq(['manifest', 'schema'], { env: { STACKQUAY_URL: service.url } })
  assert.deepEqual(JSON.parse(anonymous.stdout), schema)
  assert.equal(service.calls.at(-1)!.headers.authorization, undefined)
})
