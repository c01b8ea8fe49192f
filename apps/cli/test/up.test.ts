import assert from 'node:assert/strict'
import { mkdir, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { slugOf } from '../src/project-file.ts'
import { scratch, stq } from './run-stq.ts'
import { answerProblem, emptyPlan, operation, problem, project, standIn, step } from './stand-in.ts'

const manifest = 'name: Shop\nnode:\n  version: "24"\n'
const ended = operation({ state: 'succeeded', steps: [step('ready', 'succeeded')], finishedAt: '2026-01-01T00:00:04Z' })
const plan = { plan: { ...emptyPlan, steps: [{ title: 'Start node', workload: 'node', because: [] }] } }
const stopped = { ...project().status, state: 'stopped', desired: 'stopped' } as const

test('against a stand-in: up creates the project of a folder, shows the plan, waits, and prints its URL', async () => {
  await using folder = await scratch()
  await writeFile(join(folder.path, 'stackquay.yml'), manifest)
  await using service = await standIn({
    'GET /projects': () => ({ items: [], nextCursor: null }),
    'POST /projects/from-manifest': (call) =>
      call.query.get('dryRun') === 'true' ? plan : project({ operation: operation() }),
    'GET /operations/op_1': () => ended,
    'GET /projects/prj_1': () => project(),
  })
  const { code, stdout, stderr } = await stq(['up'], { url: service.url, cwd: folder.path })
  assert.equal(code, 0, stderr)
  assert.equal(stdout, 'http://shop.localhost:8780\n')
  assert.equal(stderr, 'Plan\n  • Start node\n✔ Do ready 3.2 s\n')
  const created = service.calls.filter(({ path }) => path === '/projects/from-manifest')
  const body = { manifest, path: await realpath(folder.path), name: 'Shop' }
  assert.deepEqual(
    created.map((call) => call.body),
    [body, { ...body, start: true }],
  )
})

test('against a stand-in: up changes a project that exists and starts it when it is stopped', async () => {
  await using folder = await scratch()
  await writeFile(join(folder.path, 'stackquay.yml'), manifest)
  const path = await realpath(folder.path)
  let state = stopped as ReturnType<typeof project>['status']
  await using service = await standIn({
    'GET /projects': () => ({ items: [project({ path, status: state })], nextCursor: null }),
    'POST /projects/prj_1/manifest/plan': () => ({ plan: emptyPlan }),
    'POST /projects/prj_1/manifest/apply': () => project({ path, status: state }),
    'POST /projects/prj_1/start': () => {
      state = project().status
      return operation()
    },
    'GET /operations/op_1': () => ended,
    'GET /projects/prj_1': () => project({ path, status: state }),
  })
  const first = await stq(['up', '--quiet'], { url: service.url, cwd: folder.path })
  assert.deepEqual([first.code, first.stdout, first.stderr], [0, 'http://shop.localhost:8780\n', ''])
  assert.ok(service.lines().includes('POST /projects/prj_1/start'))

  const count = service.calls.length
  const second = await stq(['up', '--json'], { url: service.url, cwd: folder.path })
  assert.equal(JSON.parse(second.stdout).slug, 'shop')
  assert.ok(!service.lines().slice(count).includes('POST /projects/prj_1/start'), 'what runs is not started again')
})

test('against a stand-in: a broken stackquay.yml is shown with line, column and the nearest key', async () => {
  await using folder = await scratch()
  await writeFile(join(folder.path, 'stackquay.yml'), 'name: shop\ndatabases:\n  main:\n    exposePrt: true\n')
  const errors = [
    {
      pointer: '/databases/main/exposePrt',
      code: 'unknown_field',
      detail: 'is not known. Did you mean "exposePort"?',
      line: 4,
      column: 5,
    },
  ]
  await using service = await standIn({
    'GET /projects': () => ({ items: [], nextCursor: null }),
    'POST /projects/from-manifest': (_call, response) =>
      answerProblem(
        response,
        problem(422, 'manifest_invalid', {
          title: 'The project file is not valid',
          detail: 'One mistake.',
          hint: 'Fix it.',
          errors,
        }),
      ),
  })
  const { code, stdout, stderr } = await stq(['up'], { url: service.url, cwd: folder.path })
  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.equal(
    stderr,
    `✖ The project file is not valid: One mistake.
  stackquay.yml:4:5 is not known. Did you mean "exposePort"?
    2 | databases:
    3 |   main:
  > 4 |     exposePrt: true
      |     ^
  → Fix the file, then try again. About it: stq help project-file
`,
  )
})

test('against a stand-in: text that is no YAML reaches the service, which says what is wrong', async () => {
  await using folder = await scratch()
  await writeFile(join(folder.path, 'stackquay.yml'), 'name: [\n\t}')
  await using service = await standIn({
    'GET /projects': () => ({ items: [], nextCursor: null }),
    'POST /projects/from-manifest': (_call, response) => answerProblem(response, problem(422, 'manifest_invalid')),
  })
  const { code } = await stq(['up'], { url: service.url, cwd: folder.path })
  assert.equal(code, 1)
  assert.equal((service.calls[1]!.body as { manifest: string }).manifest, 'name: [\n\t}')
})

test('against a stand-in: a project of that name with another folder is left alone', async () => {
  await using folder = await scratch()
  await writeFile(join(folder.path, 'stackquay.yml'), manifest)
  await using service = await standIn({ 'GET /projects': () => ({ items: [project()], nextCursor: null }) })
  const { code, stderr } = await stq(['up'], { url: service.url, cwd: folder.path })
  assert.equal(code, 5)
  assert.match(stderr, /"shop" has another folder: \/srv\/shop\.\n.*--project shop/)
  assert.deepEqual(service.lines(), ['GET /projects'])
})

test('against a stand-in: a plan that deletes data is not carried out without a word for it', async () => {
  await using folder = await scratch()
  await writeFile(join(folder.path, 'stackquay.yml'), manifest)
  const path = await realpath(folder.path)
  await using service = await standIn({
    'GET /projects': () => ({ items: [project({ path })], nextCursor: null }),
    'POST /projects/prj_1/manifest/plan': () => ({ plan: { ...emptyPlan, deletesData: ['postgresql-main'] } }),
    'POST /projects/prj_1/manifest/apply': () => project({ path }),
    'GET /projects/prj_1': () => project({ path }),
  })
  const refused = await stq(['up'], { url: service.url, cwd: folder.path })
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /deletes data: postgresql-main.*\n.*--yes/s)
  assert.ok(!service.lines().includes('POST /projects/prj_1/manifest/apply'))
  assert.equal((await stq(['up', '--yes'], { url: service.url, cwd: folder.path })).code, 0)
})

test('a folder without a project file says what to do', async () => {
  await using folder = await scratch()
  const { code, stderr } = await stq(['up'], { url: 'http://127.0.0.1:1', cwd: folder.path })
  assert.equal(code, 2)
  assert.match(stderr, /There is no stackquay\.yml in .*\n.*stq create/)
})

test('against a stand-in: a command in the folder of a project, or below it, is about that project', async () => {
  await using folder = await scratch()
  const path = await realpath(folder.path)
  await mkdir(join(path, 'src', 'deep'), { recursive: true })
  await using service = await standIn({
    'GET /projects': () => ({
      items: [project({ slug: 'other', path: '/srv/other' }), project({ path })],
      nextCursor: null,
    }),
    'GET /projects/shop': () => project({ path }),
  })
  const inside = await stq(['open'], { url: service.url, cwd: join(path, 'src', 'deep') })
  assert.deepEqual([inside.code, inside.stdout], [0, 'http://shop.localhost:8780\n'])
  const outside = await stq(['open'], { url: service.url })
  assert.equal(outside.code, 2)
  assert.match(outside.stderr, /Which project\?/)
})

test('names become the addresses that people expect', () => {
  assert.equal(slugOf('My Shop'), 'my-shop')
  assert.equal(slugOf('  Café — Été!  '), 'cafe-ete')
  assert.equal(slugOf('a'.repeat(60)).length, 40)
})
