import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type OperationRecord, problemKinds } from '@stackquay/contract'
import { anyId } from '../src/errors.ts'
import { exitCodes } from '../src/exit-codes.ts'
import { stq } from './run-stq.ts'
import { answerProblem, operation, problem, project, standIn, step } from './stand-in.ts'

test('the exit codes are these, for ever', () => {
  assert.deepEqual(exitCodes, {
    ok: 0,
    failed: 1,
    usage: 2,
    denied: 3,
    notFound: 4,
    conflict: 5,
    unreachable: 6,
    timedOut: 7,
    notRun: 125,
    programNotFound: 127,
    interrupted: 130,
  })
})

test('stq help exit-codes names every one of them', async () => {
  const { code, stdout } = await stq(['help', 'exit-codes'])
  assert.equal(code, 0)
  for (const value of Object.values(exitCodes)) assert.match(stdout, new RegExp(`^ +${value}  \\w`, 'm'))
})

for (const args of [
  ['nonsense'],
  ['list', '--nonsense'],
  ['create'],
  ['logs', 'shop', '--tail', 'many'],
  ['delete', 'shop', '--data', 'some'],
]) {
  test(`2: "stq ${args.join(' ')}" is a mistake in the command line`, async () => {
    const { code, stdout, stderr } = await stq(args, { url: 'http://127.0.0.1:1' })
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /^✖ \S/)
  })
}

for (const [status, name, expected] of [
  [401, 'unauthorized', 3],
  [403, 'scope_insufficient', 3],
  [404, 'not_found', 4],
  [409, 'busy', 5],
  [409, 'conflict', 5],
  [412, 'precondition_failed', 5],
  [422, 'unavailable_here', 1],
  [500, 'internal_error', 1],
] as const) {
  test(`${expected}: against a stand-in, a ${status} ${name}`, async () => {
    await using service = await standIn({
      'POST /projects/shop/start': (_call, response) => answerProblem(response, problem(status, name)),
    })
    const { code, stdout, stderr } = await stq(['start', 'shop'], { url: service.url })
    assert.equal(code, expected)
    assert.equal(stdout, '')
    assert.match(stderr, new RegExp(`^✖ Title of ${name}: Detail of ${name}\\.\\n  → `))
  })
}

test('3: without a token nothing is sent, and the way to one is told', async () => {
  await using service = await standIn({})
  const { code, stderr } = await stq(['list'], { env: { STACKQUAY_URL: service.url } })
  assert.equal(code, 3)
  assert.match(stderr, /Not logged in at http.*\n.*stq login/)
  assert.deepEqual(service.calls, [])
})

test('6: nobody listens', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await new Promise((resolve) => server.close(resolve))
  const { code, stderr } = await stq(['list'], { url })
  assert.equal(code, 6)
  assert.match(stderr, /does not answer at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)/)
  assert.match(stderr, /npm start/)
})

test('1: against a stand-in, an operation that fails says the step, the reason, the last lines and the advice', async () => {
  const error: object = {
    ...problem(422, 'job_failed', {
      title: 'A command failed',
      detail: 'npm ci ended with code 1.',
      hint: 'Fix package.json.',
    }),
    logTail: ['npm error ENOENT'],
  }
  const failed = operation({
    state: 'failed',
    error: error as OperationRecord['error'],
    steps: [step('install', 'failed')],
    finishedAt: '2026-01-01T00:00:04Z',
  })
  await using service = await standIn({
    'POST /projects/shop/start': () => operation(),
    'GET /operations/op_1': () => failed,
  })
  const { code, stdout, stderr } = await stq(['start', 'shop'], { url: service.url })
  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.equal(
    stderr,
    '✖ Do install 3.2 s\n✖ A command failed: npm ci ended with code 1.\n  │ npm error ENOENT\n  → Fix package.json.\n',
  )
})

test('7: against a stand-in, waiting longer than --timeout ends the waiting and says that the operation goes on', async () => {
  await using service = await standIn({
    'POST /projects/shop/start': () => operation(),
    'GET /operations/op_1': (call) => (call.query.has('wait') ? undefined : operation()),
  })
  const { code, stderr } = await stq(['start', 'shop', '--timeout', '1s'], { url: service.url })
  assert.equal(code, 7)
  assert.match(stderr, /did not end within 1\.0 s\. The operation op_1 continues\.\n.*stq operations wait op_1/)
})

test('130: against a stand-in, Ctrl-C stops the waiting and not the operation', async () => {
  await using service = await standIn({
    'POST /projects/shop/start': () => operation(),
    'GET /operations/op_1': (call) =>
      call.query.has('wait') ? undefined : operation({ steps: [step('install', 'running')] }),
  })
  const { code, stderr } = await stq(['start', 'shop'], {
    url: service.url,
    meanwhile: (child, seen) => {
      const look = setInterval(() => {
        if (!seen().includes('… Do install')) return
        clearInterval(look)
        child.kill('SIGINT')
      }, 20)
      child.on('close', () => clearInterval(look))
    },
  })
  assert.equal(code, 130)
  assert.match(stderr, /No longer watching\. The operation op_1 continues\.\n.*stq operations/)
  assert.ok(!service.lines().some((line) => line.includes('cancel')))
})

test('1: against a stand-in, diagnostics with an error', async () => {
  const check = {
    id: 'engine',
    category: 'engine',
    title: 'Engine',
    detail: 'Docker does not answer.',
    hint: 'Start it.',
    fix: 'systemctl start docker',
  }
  await using service = await standIn({
    'GET /system/diagnostics': () => ({
      status: 'error',
      version: '1',
      checks: [{ ...check, status: 'error' }],
      engines: [],
      orphans: [],
    }),
  })
  const { code, stdout } = await stq(['diagnostics'], { url: service.url })
  assert.equal(code, 1)
  assert.equal(stdout, '✖ Engine: Docker does not answer.\n  → Start it.\n    systemctl start docker\n')
})

test('0: against a stand-in, a start that ends well prints the URL alone on standard output', async () => {
  const ended = operation({
    state: 'succeeded',
    progress: 1,
    steps: [step('install', 'succeeded')],
    finishedAt: '2026-01-01T00:00:04Z',
  })
  await using service = await standIn({
    'POST /projects/shop/start': () => operation(),
    'GET /operations/op_1': () => ended,
    'GET /projects/shop': () => project(),
  })
  const { code, stdout, stderr } = await stq(['start', 'shop'], { url: service.url })
  assert.equal(code, 0)
  assert.equal(stdout, 'http://shop.localhost:8780\n')
  assert.equal(stderr, '✔ Do install 3.2 s\n✔ shop is running\n')
  const [start] = service.calls
  assert.equal(start!.headers.authorization, 'Bearer stq_test')
  assert.equal(start!.headers['x-stackquay-client'], 'cli')
  assert.match(String(start!.headers['user-agent']), /^stq\//)
  assert.ok(start!.headers['idempotency-key'])
})

test('what the service says to do about what is not there is shown; where it says nothing of its own, where to look', async () => {
  assert.equal(anyId, problemKinds.not_found.hint)
  for (const [hint, shown] of [
    ['There is node, postgresql-main.', /→ There is node, postgresql-main\./],
    [anyId, /→ See what there is: stq list/],
  ] as const) {
    await using service = await standIn({
      'GET /projects/shop': (_call, response) => answerProblem(response, problem(404, 'not_found', { hint })),
    })
    const { code, stderr } = await stq(['show', 'shop'], { url: service.url })
    assert.equal(code, 4)
    assert.match(stderr, shown)
  }
})
