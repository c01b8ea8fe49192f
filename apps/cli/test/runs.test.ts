import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunFrame } from '@stackquay/contract'
import type { WebSocket } from 'ws'
import { action, ended, exit, printed, run, suite, testCase } from './run-records.ts'
import { stq } from './run-stq.ts'
import { answerProblem, problem, project, standIn } from './stand-in.ts'
import { onTerminal } from './terminal.ts'

const actions = { items: [action(), action({ id: 'node.seed', label: 'npm run seed', destructive: true })] }
const unavailable = action({ id: 'node.e2e', label: 'npm run e2e', available: false, reason: 'Node is not installed.' })

function say(socket: WebSocket, ...frames: readonly RunFrame[]): void {
  for (const frame of frames) socket.send(JSON.stringify(frame))
}
/** No project has the folder of this test. */
const nowhere = () => ({ items: [project({ path: '/elsewhere' })], nextCursor: null })
const start: RunFrame = { type: 'start', seq: 0, run: run() }

test('against a stand-in: run streams both outputs to ours, and its exit code is the program’s', async () => {
  const last = ended({ state: 'failed', exitCode: 3 })
  await using service = await standIn(
    {
      'GET /projects/shop/actions': () => actions,
      'POST /projects/shop/actions/node.build': () => run(),
    },
    {
      '/projects/shop/runs/run_1/ws': (socket) =>
        say(
          socket,
          start,
          printed(1, 'one\n'),
          printed(2, 'careful\n', 'stderr'),
          printed(3, '\x1b[2Jtwo\n'),
          exit(last),
        ),
    },
  )
  const { code, stdout, stderr } = await stq(['run', 'shop', 'build'], { url: service.url })
  assert.equal(code, 3)
  // A pipe gets what was printed as it is.
  assert.equal(stdout, 'one\n\x1b[2Jtwo\n')
  assert.equal(stderr, 'careful\n✖ npm run build: code 3, 4.2 s\n')
  const begun = service.calls.find(({ method }) => method === 'POST')
  assert.ok(begun?.headers['idempotency-key'])

  const json = await stq(['run', 'shop', 'npm run build', '--json'], { url: service.url })
  assert.deepEqual([json.code, JSON.parse(json.stdout).exitCode, json.stderr], [3, 3, ''])
})

test('against a stand-in: a connection that is cut at every line loses and repeats none, and starts nothing again', async () => {
  let connections = 0
  await using service = await standIn(
    {
      'GET /projects/shop/actions': () => actions,
      'POST /projects/shop/actions/node.build': () => run(),
    },
    {
      '/projects/shop/runs/run_1/ws': (socket, query) => {
        connections++
        const after = Number(query.get('after') ?? 0)
        say(socket, start)
        if (after === 4) return say(socket, exit(ended()))
        say(socket, printed(after + 1, `line ${after + 1}\n`))
        socket.close()
      },
    },
  )
  const { code, stdout } = await stq(['run', 'shop', 'build', '--quiet'], { url: service.url })
  assert.deepEqual([code, stdout, connections], [0, 'line 1\nline 2\nline 3\nline 4\n', 5])
  assert.equal(service.lines().filter((line) => line.startsWith('POST')).length, 1)
})

test('against a stand-in: on a terminal, output of a run cannot steer it, also when a sequence comes in two pieces', async () => {
  await using service = await standIn(
    {
      'GET /projects/shop/actions': () => actions,
      'POST /projects/shop/actions/node.build': () => run(),
    },
    {
      '/projects/shop/runs/run_1/ws': (socket) =>
        say(socket, start, printed(1, '10 %\r20 %\n\x1b]0;mine\x07a\x1b['), printed(2, '2Jb\n'), exit(ended())),
    },
  )
  const { stdout, error } = await onTerminal(['run', 'shop', 'build'], { url: service.url })
  assert.equal(error, null)
  assert.equal(stdout, '10 %\r20 %\nab\n')
})

test('against a stand-in: without an action the list tells what can run, and why something cannot', async () => {
  await using service = await standIn({
    'GET /projects/shop/actions': () => ({ items: [...actions.items, unavailable] }),
    'GET /projects': nowhere,
  })
  const list = await stq(['run', 'shop'], { url: service.url })
  assert.match(list.stdout, /^ACTION +RUNS +WHAT\n/)
  assert.match(list.stdout, /node\.seed +npm run seed +.*\(may delete data\)\n/)
  assert.match(list.stdout, /node\.e2e +npm run e2e +✖ Node is not installed\.\n/)
  assert.equal(
    (await stq(['run', 'shop', '--list', '-q'], { url: service.url })).stdout,
    'node.build\nnode.seed\nnode.e2e\n',
  )

  const mistyped = await stq(['run', 'shop', 'buidl'], { url: service.url })
  assert.equal(mistyped.code, 125)
  assert.match(
    mistyped.stderr,
    /There is no action "buidl"\.\n.*Did you mean "build"\? What there is: stq run shop --list/,
  )
  const cannot = await stq(['run', 'shop', 'e2e'], { url: service.url })
  assert.equal(cannot.code, 125)
  assert.match(cannot.stderr, /"npm run e2e" cannot run now: Node is not installed\./)
  assert.ok(!service.lines().some((line) => line.startsWith('POST')))
})

test('against a stand-in: one word is an action of this folder’s project, or else a project', async () => {
  await using service = await standIn(
    {
      'GET /projects': () => ({
        items: [project({ path: '/' }), project({ id: 'prj_2', slug: 'blog', path: '/elsewhere' })],
        nextCursor: null,
      }),
      'GET /projects/shop/actions': () => actions,
      'GET /projects/blog/actions': () => ({ items: [action({ id: 'ruby.deploy' })] }),
      'POST /projects/shop/actions/node.build': () => run(),
    },
    { '/projects/shop/runs/run_1/ws': (socket) => say(socket, start, printed(1, 'here\n'), exit(ended())) },
  )
  const options = { url: service.url, cwd: '/' }
  assert.equal((await stq(['run', 'build'], options)).stdout, 'here\n')
  assert.equal((await stq(['run', 'blog', '-q'], options)).stdout, 'ruby.deploy\n')
  const neither = await stq(['run', 'bild'], options)
  assert.match(neither.stderr, /There is no action "bild"\.\n.*"build".*stq run shop --list/)
})

test('against a stand-in: an action that may delete data asks, needs --yes in scripts, and can be left running', async () => {
  await using service = await standIn({
    'GET /projects/shop/actions': () => actions,
    'POST /projects/shop/actions/node.seed': () => run({ name: 'node.seed' }),
  })
  const refused = await stq(['run', 'shop', 'seed'], { url: service.url })
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /"npm run seed" may delete data of shop\.\n.*--yes/)
  const no = await onTerminal(['run', 'shop', 'seed'], { url: service.url, answers: { 'Go on? [y/N] ': 'n' } })
  assert.match(String(no.error), /Nothing was done/)
  assert.ok(!service.lines().some((line) => line.startsWith('POST')))
  const left = await stq(['run', 'shop', 'seed', '--yes', '--detach'], { url: service.url })
  assert.deepEqual([left.code, left.stdout], [0, 'run_1\n'])
  assert.match(left.stderr, /stq runs follow run_1 --project shop/)
})

test('against a stand-in: Ctrl-C ends a run and shows what it prints while it ends', async () => {
  let socket: WebSocket | null = null
  await using service = await standIn(
    {
      'GET /projects/shop/actions': () => actions,
      'POST /projects/shop/actions/node.build': () => run(),
      'POST /projects/prj_1/runs/run_1/cancel': () => {
        say(socket!, printed(2, 'tidying up\n'), exit(ended({ state: 'cancelled', exitCode: null, signal: 'SIGTERM' })))
        return run()
      },
    },
    {
      '/projects/shop/runs/run_1/ws': (opened) => {
        socket = opened
        say(opened, start, printed(1, 'working\n'))
      },
    },
  )
  const { code, stdout, stderr } = await stq(['run', 'shop', 'build'], {
    url: service.url,
    meanwhile: (child) => {
      child.stdout.once('data', () => child.kill('SIGINT'))
    },
  })
  assert.deepEqual([code, stdout], [130, 'working\ntidying up\n'])
  assert.match(stderr, /ending it; Ctrl-C again leaves it running\n✖ It was ended\.\n$/)
})

test('125: against a stand-in, a run that could not begin, one that somebody else ended, and a service that refuses', async () => {
  const { errors: _, ...found } = problem(422, 'program_not_found')
  const error = { ...found, detail: 'There is no npm here.' }
  const ends = [
    ended({ state: 'failed', exitCode: null, error }),
    ended({ state: 'cancelled', exitCode: null, signal: 'SIGTERM' }),
  ]
  await using service = await standIn(
    {
      'GET /projects/shop/actions': () => actions,
      'POST /projects/shop/actions/node.build': () => run(),
      'GET /projects/none/actions': (_call, response) => answerProblem(response, problem(404, 'not_found')),
    },
    { '/projects/shop/runs/run_1/ws': (socket) => say(socket, start, exit(ends.shift()!)) },
  )
  const missing = await stq(['run', 'shop', 'build'], { url: service.url })
  assert.equal(missing.code, 125)
  assert.match(missing.stderr, /There is no npm here\./)
  const cancelled = await stq(['run', 'shop', 'build'], { url: service.url })
  assert.equal(cancelled.code, 125)
  assert.match(cancelled.stderr, /Someone else ended it/)
  assert.equal((await stq(['run', 'none', 'build'], { url: service.url })).code, 125)
  assert.equal((await stq(['run', 'shop', 'build'], { url: 'http://127.0.0.1:1' })).code, 125)
})

test('against a stand-in: a run that a signal ended has 128 and its number as exit code, as in a shell', async () => {
  const last = ended({ state: 'failed', exitCode: null, signal: 'SIGKILL' })
  await using service = await standIn(
    {
      'GET /projects/shop/actions': () => actions,
      'POST /projects/shop/actions/node.build': () => run(),
    },
    { '/projects/shop/runs/run_1/ws': (socket) => say(socket, start, exit(last)) },
  )
  assert.equal((await stq(['run', 'shop', 'build'], { url: service.url })).code, 137)
})

test('against a stand-in: test runs every suite that can run, shows failed tests with their place, and ends with 1', async () => {
  const suites = [
    suite(),
    suite({ id: 'python.pytest', label: 'pytest' }),
    suite({ id: 'node.e2e', label: 'playwright test', available: false, reason: 'No browser.' }),
  ]
  const counts = { total: 4, passed: 2, failed: 1, skipped: 1, flaky: 1 }
  const red = ended({ id: 'run_1', kind: 'test', state: 'failed', exitCode: 1, label: 'node --test', tests: counts })
  const green = ended({
    id: 'run_2',
    kind: 'test',
    label: 'pytest',
    tests: { ...counts, failed: 0, passed: 3, flaky: 0 },
  })
  const failed = [testCase({ flaky: true })]
  await using service = await standIn(
    {
      'GET /projects': nowhere,
      'GET /projects/shop/tests': () => ({ suites, runs: [] }),
      'POST /projects/shop/tests/node.test': () => run({ id: 'run_1' }),
      'POST /projects/shop/tests/python.pytest': () => run({ id: 'run_2' }),
    },
    {
      '/projects/shop/runs/run_1/ws': (socket) =>
        say(socket, start, printed(1, 'TAP version 13\n'), { type: 'result', seq: 1, run: red, failed }, exit(red)),
      '/projects/shop/runs/run_2/ws': (socket) => say(socket, start, printed(1, '3 passed\n'), exit(green)),
    },
  )
  const { code, stdout, stderr } = await stq(['test', 'shop'], { url: service.url })
  assert.deepEqual([code, stdout], [1, 'TAP version 13\n3 passed\n'])
  assert.equal(
    stderr,
    [
      'node --test (node.test)',
      '✖ node --test: 1 of 4 failed, 1 skipped, 1 flaky, 4.2 s',
      '  ✖ Cart › adds twice test/cart.test.js:41 (flaky: it passed on the same source)',
      '    Expected 2, got 3',
      'pytest (python.pytest)',
      '✔ pytest: 3 passed, 1 skipped, 4.2 s',
      '',
    ].join('\n'),
  )
  const one = await stq(['test', 'shop', 'pytest', '--filter', 'cart'], { url: service.url })
  assert.equal(one.code, 0)
  assert.deepEqual(service.calls.findLast(({ method }) => method === 'POST')?.body, { filter: 'cart' })

  const json = await stq(['test', 'shop', '--json'], { url: service.url })
  const { items } = JSON.parse(json.stdout)
  assert.equal(json.code, 1)
  assert.deepEqual(
    items.map((item: { suite: string; failed: { line: number }[] }) => [
      item.suite,
      item.failed.map(({ line }) => line),
    ]),
    [
      ['node.test', [41]],
      ['python.pytest', []],
    ],
  )
  const vague = await stq(['test', 'shop', '--filter', 'cart'], { url: service.url })
  assert.equal(vague.code, 2)
  assert.match(vague.stderr, /Name it: node\.test, python\.pytest/)
  const cannot = await stq(['test', 'shop', 'e2e'], { url: service.url })
  assert.deepEqual([cannot.code, /No browser/.test(cannot.stderr)], [125, true])
})

test('against a stand-in: tests that were not found, and suites as they are listed', async () => {
  let suites = [
    suite({ lastRun: ended({ kind: 'test', tests: { total: 3, passed: 3, failed: 0, skipped: 0, flaky: 0 } }) }),
  ]
  await using service = await standIn({
    'GET /projects': nowhere,
    'GET /projects/shop/tests': () => ({ suites, runs: [] }),
  })
  const list = await stq(['test', 'shop', '--list'], { url: service.url })
  assert.match(list.stdout, /node\.test +node --test +3 passed, .* ago +package\.json has the script "test"\n/)
  assert.match(list.stdout, /--filter of node\.test: Part of the test’s name\.\n$/)
  suites = []
  const none = await stq(['test', 'shop'], { url: service.url })
  assert.equal(none.code, 125)
  assert.match(none.stderr, /No tests were found in shop\./)
})

test('against a stand-in: runs are listed, shown, followed, printed and ended; without an id the newest is meant', async () => {
  const last = ended({ state: 'failed', exitCode: 3 })
  await using service = await standIn(
    {
      'GET /projects': nowhere,
      'GET /projects/shop/actions': () => actions,
      'GET /projects/shop/runs': () => ({ items: [last], nextCursor: null }),
      'GET /projects/shop/runs/run_1': () => last,
      'GET /projects/shop/runs/run_1/output': (_call, response) =>
        void response.writeHead(200, { 'content-type': 'text/plain' }).end('one\ntwo\n'),
      'POST /projects/shop/runs/run_1/cancel': () => ended({ state: 'cancelled' }),
    },
    {
      '/projects/shop/runs/run_1/ws': (socket, query) =>
        say(socket, start, printed(Number(query.get('after') ?? 0) + 1, 'two\n'), exit(last)),
    },
  )
  const list = await stq(['runs', 'list', 'shop'], { url: service.url })
  assert.match(list.stdout, /^RUN +STATE .*\nrun_1 +✖ failed .* 4\.2 s +code 3 +ada +node\.build\n$/)
  const history = await stq(['run', 'shop', '--history', '-q'], { url: service.url })
  assert.deepEqual([history.code, history.stdout], [0, 'run_1\n'])
  const show = await stq(['runs', 'show', '-p', 'shop'], { url: service.url })
  assert.match(show.stdout, /State +✖ failed\n[\s\S]*End +code 3\n/)
  const follow = await stq(['runs', 'follow', 'run_1', '--project', 'shop', '--after', '7'], { url: service.url })
  assert.deepEqual([follow.code, follow.stdout], [3, 'two\n'])
  const frames = await stq(['runs', 'follow', '-p', 'shop', '--json'], { url: service.url })
  assert.deepEqual(
    frames.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).type),
    ['start', 'output', 'exit'],
  )
  assert.equal((await stq(['runs', 'output', '-p', 'shop'], { url: service.url })).stdout, 'one\ntwo\n')
  const ending = await stq(['runs', 'cancel', 'run_1', '-p', 'shop'], { url: service.url })
  assert.deepEqual([ending.code, ending.stderr], [0, 'run_1 is cancelled.\n'])
})
