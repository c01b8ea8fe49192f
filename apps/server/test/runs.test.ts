import assert from 'node:assert/strict'
import { readdir, symlink, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Action, ProjectView, Run, RunFrame, Tests as TestsSchema } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import { WebSocket } from 'ws'
import type { z } from 'zod'
import { planOf } from '../src/runs/run-plan.ts'
import { type OperationAnswer, openTestApp, type ProblemAnswer, type TestApp } from './projects-support.ts'

type Tests = z.infer<typeof TestsSchema>

const scripts = { build: 'vite build', hello: 'echo hello', slow: 'sleep 100' }

/** A stopped project of Node.js with a few scripts. */
async function shop({ ask }: TestApp, more: object = {}): Promise<ProjectView> {
  const made = await ask('POST', '/projects?wait=60', { name: 'Shop', node: {}, start: false, ...more })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  await writeFile(join(made.body.path, 'package.json'), JSON.stringify({ name: 'shop', scripts }))
  return made.body
}

const run = (app: TestApp, action: string, wait = 60) =>
  app.ask<Run & ProblemAnswer>('POST', `/projects/shop/actions/node.${action}?wait=${wait}`)
/** Runs the only suite, whose tests write these cases; answers the run at its end. */
async function runSuite(app: TestApp, write: (path: string) => Promise<void>, exit: number): Promise<Run> {
  const { suites } = (await app.ask<Tests>('GET', '/projects/shop/tests')).body
  assert.equal(suites.length, 1, JSON.stringify(suites))
  const started = (await app.ask<Run>('POST', `/projects/shop/tests/${suites[0]?.id}`)).body
  const ref = { project: started.project, id: started.id }
  await until('the tests run', async () => app.engine.command(ref) !== null)
  const plan = planOf((await app.store.runs.find(started.id))!)
  await write(join(app.folder, 'results', started.id, plan.results?.file ?? 'unknown'))
  app.engine.command(ref)!.finish({ code: exit })
  return readRun(app, started.id)
}

const readRun = async ({ ask }: TestApp, id: string, wait = 60) =>
  (await ask<Run>('GET', `/projects/shop/runs/${id}?wait=${wait}`)).body

async function until(what: string, ask: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 30_000
  while (!(await ask())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Starts a run and waits until its command is there. */
async function begun(app: TestApp, action: string) {
  const { body } = await run(app, action, 0)
  const ref = { project: body.project, id: body.id }
  await until('the command runs', async () => app.engine.command(ref) !== null)
  return { id: body.id, command: app.engine.command(ref)! }
}

test('scripts of the source are actions, each with the program that it runs', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { body } = await app.ask<{ items: Action[] }>('GET', '/projects/shop/actions')
  const hello = body.items.find(({ id }) => id === 'node.hello')
  assert.ok(hello, JSON.stringify(body))
  assert.deepEqual(
    [hello.label, hello.summary, hello.available, hello.reason, hello.lastRun],
    ['npm run hello', 'echo hello', true, null, null],
  )
})

test('a run of a stopped project is answered at its end, with its output, an event and an audit entry', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  app.engine.nextCommand({ output: [{ text: 'hello\n' }, { stream: 'stderr', text: 'wörld\n' }], exit: { code: 0 } })
  const { status, body } = await run(app, 'hello')
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(
    [body.state, body.exitCode, body.error, body.kind, body.name, body.label, body.runtime, body.phase],
    ['succeeded', 0, null, 'action', 'node.hello', 'npm run hello', 'node', null],
  )
  assert.ok(body.durationSeconds !== null && body.output !== null)
  const output = await app.ask<string>('GET', `/projects/shop/runs/${body.id}/output`)
  assert.equal(output.body, 'hello\nwörld\n')
  assert.match(String(output.headers['content-type']), /^text\/plain/)
  const events = (await app.store.events.after(0, 1000)).filter(({ type }) => type === 'run.changed')
  assert.deepEqual([events.at(0)?.data.state, events.at(-1)?.data.state], ['queued', 'succeeded'])
  assert.ok(events.every((event) => event.project === project.id && !('plan' in event.data)))
  const [entry] = await app.store.audit.list({ limit: 1, action: 'action.run' })
  assert.deepEqual(
    [entry?.target, entry?.outcome, entry?.changes],
    ['shop', 'success', { run: body.id, name: 'node.hello' }],
  )
  assert.deepEqual(app.errors, [])
})

test('another exit code is a failed run, not an error', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  app.engine.nextCommand({ exit: { code: 3 } })
  const { body } = await run(app, 'hello')
  assert.deepEqual([body.state, body.exitCode, body.error], ['failed', 3, null])
})

test('an unknown action, an unknown run and a run of another project are not there', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  await app.ask('POST', '/projects?wait=60', { name: 'Other', node: {}, start: false })
  app.engine.nextCommand({ exit: { code: 0 } })
  const { body } = await run(app, 'hello')
  assert.equal((await run(app, 'nothing')).status, 404)
  for (const path of [
    `/projects/shop/runs/run_1`,
    `/projects/other/runs/${body.id}`,
    `/projects/other/runs/${body.id}/output`,
  ])
    assert.equal((await app.ask('GET', path)).status, 404, path)
  assert.equal((await app.ask('POST', `/projects/other/runs/${body.id}/cancel`)).status, 404)
})

test('one run of an action at a time; the answer names the one that runs, and others may run beside it', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const first = await begun(app, 'slow')
  const second = await run(app, 'slow')
  assert.deepEqual([second.status, second.body.code, second.body.run], [409, 'busy', first.id])
  app.engine.nextCommand({ exit: { code: 0 } })
  assert.equal((await run(app, 'hello')).body.state, 'succeeded')
  first.command.finish()
  assert.equal((await readRun(app, first.id)).state, 'succeeded')
  app.engine.nextCommand({ exit: { code: 0 } })
  assert.equal((await run(app, 'slow')).body.state, 'succeeded')
})

test('two requests at once start one run', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const answers = await Promise.all([run(app, 'slow', 0), run(app, 'slow', 0), run(app, 'slow', 0)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409, 409])
})

test('at most eight runs go on in a project', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`s${at}`, 'sleep 9']))
  await writeFile(join(project.path, 'package.json'), JSON.stringify({ scripts: many }))
  for (let at = 0; at < 8; at += 1) assert.equal((await run(app, `s${at}`, 0)).status, 202)
  const ninth = await run(app, 's8', 0)
  assert.deepEqual([ninth.status, ninth.body.code], [409, 'busy'])
})

test('a cancelled run is cancelled, its slot is free, and cancelling it again is a success', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { id } = await begun(app, 'slow')
  const cancelled = await app.ask<Run>('POST', `/projects/shop/runs/${id}/cancel?wait=60`)
  assert.deepEqual([cancelled.status, cancelled.body.state, cancelled.body.signal], [200, 'cancelled', 'SIGTERM'])
  assert.equal((await app.ask<Run>('POST', `/projects/shop/runs/${id}/cancel?wait=60`)).body.state, 'cancelled')
  app.engine.nextCommand({ exit: { code: 0 } })
  assert.equal((await run(app, 'slow')).body.state, 'succeeded')
  assert.equal((await app.store.audit.list({ limit: 9, action: 'run.cancel' })).length, 2)
})

test('dependencies are installed first; an installation that fails shows its last lines and starts nothing', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  await writeFile(join(project.path, 'package.json'), JSON.stringify({ scripts, dependencies: { vite: '8' } }))
  app.engine.failNext(
    'job',
    new EngineError('job_failed', 'Install dependencies failed.', { hint: 'See.', logTail: ['npm error 404'] }),
  )
  const { body } = await run(app, 'build')
  assert.deepEqual([body.state, body.error?.code, body.error?.logTail], ['failed', 'job_failed', ['npm error 404']])
  assert.deepEqual([body.startedAt, body.exitCode, body.output], [null, null, null])
  assert.equal((await app.engine.commands.list(AbortSignal.timeout(5_000))).length, 0)
})

test('a run that is cancelled while dependencies are installed starts nothing', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  await writeFile(join(project.path, 'package.json'), JSON.stringify({ scripts, dependencies: { vite: '8' } }))
  const job = app.engine.hangNext('job')
  t.after(job.release)
  const { body } = await run(app, 'build', 0)
  await until('it installs', async () => app.engine.applied.some(({ step }) => step.do === 'job'))
  const during = await readRun(app, body.id, 0)
  assert.equal(during.state, 'running')
  assert.match(during.phase ?? '', /dependencies/)
  const cancelled = await app.ask<Run>('POST', `/projects/shop/runs/${body.id}/cancel?wait=60`)
  assert.deepEqual([cancelled.body.state, cancelled.body.error], ['cancelled', null])
  assert.equal((await app.engine.commands.list(AbortSignal.timeout(5_000))).length, 0)
})

test('a program that is missing is told as the error of the run', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  app.engine.nextCommand({ error: new EngineError('program_not_found', 'There is no npm.', { hint: 'Install it.' }) })
  const { body } = await run(app, 'hello')
  assert.deepEqual([body.state, body.error?.code, body.error?.hint], ['failed', 'program_not_found', 'Install it.'])
})

test('secrets reach the program and stand in no row, frame, event or audit entry', async (t) => {
  const app = await openTestApp(t)
  await shop(app, { env: { KEY: { value: 'open sesame', secret: true } } })
  app.engine.nextCommand({ exit: { code: 0 } })
  const { body } = await run(app, 'hello')
  const command = app.engine.command({ project: body.project, id: body.id })!
  assert.equal(command.env.KEY, 'open sesame')
  const told = JSON.stringify([
    await app.store.runs.find(body.id),
    await app.store.events.after(0, 1000),
    await app.store.audit.list({ limit: 100 }),
    body,
  ])
  assert.ok(!told.includes('sesame'), told)
})

test('a run goes on while the service is away: it is followed to its end afterwards, and never started twice', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { id, command } = await begun(app, 'slow')
  command.print('before\n')
  const next = await app.reopen()
  assert.equal((await readRun(next, id, 0)).state, 'running')
  command.print('after\n')
  command.finish({ code: 4 })
  const ended = await readRun(next, id)
  assert.deepEqual([ended.state, ended.exitCode], ['failed', 4])
  assert.equal((await next.ask<string>('GET', `/projects/shop/runs/${id}/output`)).body, 'before\nafter\n')
  assert.equal((await next.engine.commands.list(AbortSignal.timeout(5_000))).length, 1)
})

test('what ended while the service was away is found with its exit code', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { id, command } = await begun(app, 'slow')
  const machine = app.engine.machine
  await app.app.close()
  command.finish({ code: 7 })
  assert.equal(machine.commands.size, 1)
  const ended = await readRun(await app.reopen(), id)
  assert.deepEqual([ended.state, ended.exitCode], ['failed', 7])
})

test('a run whose command is lost fails and says so', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { id, command } = await begun(app, 'slow')
  await app.app.close()
  command.finish({ code: null }, 'lost')
  const lost = await readRun(await app.reopen(), id)
  assert.deepEqual([lost.state, lost.error?.code, lost.error?.retryable], ['failed', 'interrupted', true])
})

test('a run that was only prepared when the service ended begins again and has one command', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  await writeFile(join(project.path, 'package.json'), JSON.stringify({ scripts, dependencies: { vite: '8' } }))
  app.engine.hangNext('job')
  const { body } = await run(app, 'build', 0)
  await until('it installs', async () => app.engine.applied.some(({ step }) => step.do === 'job'))
  const next = await app.reopen()
  const ref = { project: body.project, id: body.id }
  await until('the command runs', async () => next.engine.command(ref) !== null)
  next.engine.command(ref)!.finish()
  assert.equal((await readRun(next, body.id)).state, 'succeeded')
})

test('a run whose service was ended in the moment before its command began has one command, and so has one after it', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { id, command } = await begun(app, 'slow')
  const { machine } = app.engine
  await app.app.close()
  machine.commands.clear()
  const next = await app.reopen()
  await until('the command runs', async () => next.engine.command(command.spec.ref) !== null)
  const again = await next.reopen()
  again.engine.command(command.spec.ref)!.finish()
  assert.equal((await readRun(again, id)).state, 'succeeded')
  assert.equal(machine.commands.size, 1)
})

test('a run that was cancelled as the service ended is cancelled by the next', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { id } = await begun(app, 'slow')
  const row = (await app.store.runs.find(id))!
  await app.store.transaction((tx) => tx.runs.update(id, { plan: { ...row.plan, cancelled: true } }))
  assert.equal((await readRun(await app.reopen(), id)).state, 'cancelled')
})

test('commands that nobody remembers are ended and removed at the start', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { id, command } = await begun(app, 'slow')
  await app.store.transaction(async (tx) => {
    await tx.runs.update(id, { state: 'failed' })
    await tx.runs.keepNewest(command.spec.ref.project, 'action', 'node.slow', 0)
  })
  const next = await app.reopen()
  await until('it is gone', async () => next.engine.command(command.spec.ref) === null)
  assert.equal(command.state.cause, 'cancelled')
})

test('a project that is deleted ends its runs first and leaves nothing of them', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { id, command } = await begun(app, 'slow')
  const removed = await app.ask<OperationAnswer>('DELETE', '/projects/shop?confirm=shop&wait=60')
  assert.equal(removed.body.state, 'succeeded', JSON.stringify(removed.body))
  assert.equal(removed.body.steps[0]?.title, 'End runs and terminals')
  assert.equal(command.state.cause, 'cancelled')
  assert.equal(await app.store.runs.find(id), null)
  assert.equal((await app.engine.commands.list(AbortSignal.timeout(5_000))).length, 0)
  assert.deepEqual(app.errors, [])
})

test('a project that is deleted while dependencies are installed does not wait for them', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  await writeFile(join(project.path, 'package.json'), JSON.stringify({ scripts, dependencies: { vite: '8' } }))
  t.after(app.engine.hangNext('job').release)
  await run(app, 'build', 0)
  await until('it installs', async () => app.engine.applied.some(({ step }) => step.do === 'job'))
  const removed = await app.ask<OperationAnswer>('DELETE', '/projects/shop?confirm=shop&wait=60')
  assert.equal(removed.body.state, 'succeeded', JSON.stringify(removed.body))
  assert.deepEqual(app.errors, [])
})

test('the newest 100 runs of an action are remembered, the newest 20 with their output', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  for (let at = 0; at < 103; at += 1) {
    app.engine.nextCommand({ output: [{ text: `${at}\n` }], exit: { code: 0 } })
    assert.equal((await run(app, 'hello')).body.state, 'succeeded')
  }
  await until('the old ones are forgotten', async () => {
    const rows = await app.store.runs.list({ project: project.id, limit: 200 })
    return rows.length === 100 && (await app.engine.commands.list(AbortSignal.timeout(5_000))).length === 20
  })
  const first = await app.ask<{ items: Run[]; nextCursor: string }>('GET', '/projects/shop/runs?limit=30')
  assert.deepEqual(
    first.body.items.map(({ output }) => output !== null),
    Array.from({ length: 30 }, (_, at) => at < 20),
  )
  const second = await app.ask<{ items: Run[] }>('GET', `/projects/shop/runs?limit=200&cursor=${first.body.nextCursor}`)
  assert.equal(second.body.items.length, 70)
  const gone = await app.ask<ProblemAnswer>('GET', `/projects/shop/runs/${second.body.items[0]?.id}/output`)
  assert.equal(gone.status, 404)
})

test('a run of tests whose results cannot be read is decided by its exit code, and says why there are no counts', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  await writeFile(join(project.path, 'package.json'), JSON.stringify({ scripts: { test: 'node --test' } }))
  await writeFile(join(project.path, 'a.test.js'), "import { test } from 'node:test'\ntest('a', () => {})\n")
  const missing = await runSuite(app, async () => undefined, 0)
  assert.deepEqual([missing.state, missing.tests, missing.error?.code], ['succeeded', null, 'io_failed'])
  const linked = await runSuite(app, (path) => symlink('/etc/passwd', path), 1)
  assert.deepEqual([linked.state, linked.tests, linked.error?.code], ['failed', null, 'io_failed'])
  assert.ok(!JSON.stringify(linked).includes('root:'))
  await until('nothing of them is left', async () => (await readdir(join(app.folder, 'results'))).length === 0)
  const cases = await app.ask<{ items: unknown[] }>('GET', `/projects/shop/runs/${linked.id}/tests`)
  assert.deepEqual(cases.body.items, [])
  assert.deepEqual(app.errors, [])
})

interface Watched {
  readonly frames: RunFrame[]
  readonly socket: WebSocket
  readonly closed: Promise<number>
}

async function listen({ app }: TestApp): Promise<string> {
  await app.http.listen({ host: '127.0.0.1', port: 0 })
  return `ws://127.0.0.1:${(app.http.server.address() as AddressInfo).port}/api/v1`
}

const watchers = new WeakMap<TestApp, Promise<string>>()

async function watch(
  t: TestContext,
  app: TestApp,
  path: string,
  who: 'read' | 'operate' | Record<string, string> = 'operate',
): Promise<Watched> {
  const address = watchers.get(app) ?? listen(app)
  watchers.set(app, address)
  const session = typeof who === 'string' ? await sessionOf(app, who) : who
  const socket = new WebSocket((await address) + path, { headers: session })
  t.after(() => socket.terminate())
  const frames: RunFrame[] = []
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString())))
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  socket.once('close', resolve)
  socket.once('error', reject)
  return { frames, socket, closed: promise }
}

/** Headers of a new token of ada's. */
async function sessionOf({ app }: TestApp, scope: 'read' | 'operate'): Promise<Record<string, string>> {
  const login = await app.http.inject({
    method: 'POST',
    url: '/api/v1/auth/login',
    payload: { username: 'ada', password: 'correct horse battery' },
  })
  const cookie = String(login.headers['set-cookie']).split(';')[0]!
  const token = await app.http.inject({
    method: 'POST',
    url: '/api/v1/tokens',
    headers: { cookie, 'x-csrf-token': login.json().csrfToken },
    payload: { name: `${scope} ${performance.now()}`, scope },
  })
  return { authorization: `Bearer ${token.json().value}` }
}

const typesOf = (frames: readonly RunFrame[]) => frames.map(({ type }) => type)
const textOf = (frames: readonly RunFrame[]) =>
  frames.map((frame) => (frame.type === 'output' ? frame.text : '')).join('')

test('a socket without a run starts one, once, and is told how it went', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  app.engine.nextCommand({ output: [{ text: 'one\n' }, { stream: 'stderr', text: 'two\n' }], exit: { code: 5 } })
  const { frames, closed } = await watch(t, app, '/projects/shop/actions/node.hello/ws')
  assert.equal(await closed, 1000, JSON.stringify(frames))
  assert.equal(frames[0]?.type, 'start')
  const told = frames.filter(({ type }) => type !== 'status')
  assert.deepEqual(typesOf(told), ['start', 'output', 'output', 'exit'])
  assert.equal(textOf(frames), 'one\ntwo\n')
  const exit = frames.at(-1)!
  assert.ok(exit.type === 'exit' && exit.code === 5 && exit.run.state === 'failed')
  assert.ok(frames.every((frame, at) => at === 0 || frame.seq >= frames[at - 1]!.seq))
  assert.equal((await app.store.audit.list({ limit: 9, action: 'action.run' })).length, 1)
})

test('a reader goes on after any frame that he read, and misses and repeats nothing', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { id, command } = await begun(app, 'slow')
  for (let at = 0; at < 40; at += 1) command.print(`line ${at} é\n`, at % 3 === 0 ? 'stderr' : 'stdout')
  command.finish()
  await readRun(app, id)
  const whole = await watch(t, app, `/projects/shop/runs/${id}/ws`)
  assert.equal(await whole.closed, 1000)
  const outputs = whole.frames.filter((frame) => frame.type === 'output')
  assert.ok(outputs.length > 10)
  for (const [at, { seq }] of outputs.entries()) {
    const rest = await watch(t, app, `/projects/shop/actions/node.slow/ws?run=${id}&after=${seq}`)
    assert.equal(await rest.closed, 1000)
    assert.equal(textOf(rest.frames), textOf(outputs.slice(at + 1)))
  }
})

test('a position that nobody was told is refused, and so is the run of another action', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  app.engine.nextCommand({ output: [{ text: 'hello\n' }], exit: { code: 0 } })
  const { body } = await run(app, 'hello')
  for (const [path, code] of [
    [`/projects/shop/runs/${body.id}/ws?after=3`, 4400],
    [`/projects/shop/runs/${body.id}/ws?after=9999`, 4400],
    [`/projects/shop/actions/node.build/ws?run=${body.id}`, 4404],
    [`/projects/shop/tests/node.hello/ws?run=${body.id}`, 4404],
    ['/projects/shop/actions/node.hello/ws?after=5', 4400],
  ] as const) {
    const { closed } = await watch(t, app, path)
    assert.equal(await closed, code, path)
  }
  await app.engine.commands.remove({ project: body.project, id: body.id })
  assert.equal(await (await watch(t, app, `/projects/shop/runs/${body.id}/ws?after=6`)).closed, 4410)
  const silent = await watch(t, app, `/projects/shop/runs/${body.id}/ws`)
  assert.equal(await silent.closed, 1000)
  assert.deepEqual(typesOf(silent.frames), ['start', 'exit'])
})

test('output that was more than is kept begins with a gap of as many bytes', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { id, command } = await begun(app, 'slow')
  for (let at = 0; at < 70; at += 1) command.print(`${String(at).padEnd((1 << 20) - 1, '.')}\n`)
  command.finish()
  const { frames, closed } = await watch(t, app, `/projects/shop/runs/${id}/ws`)
  assert.equal(await closed, 1000)
  const gap = frames.find((frame) => frame.type === 'gap')
  assert.ok(gap?.type === 'gap' && gap.bytes === gap.seq && gap.bytes > 0, JSON.stringify(typesOf(frames)))
  assert.equal(textOf(frames).length + gap.bytes, 70 << 20)
})

test('a watcher may cancel when his scope allows it; one who may only read is refused, and that is written down', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { id } = await begun(app, 'slow')
  const session = await sessionOf(app, 'read')
  const tryToCancel = async () => {
    const reader = await watch(t, app, `/projects/shop/runs/${id}/ws`, session)
    await until('he follows', async () => reader.frames.length > 0)
    reader.socket.send('{"type":"cancel"}')
    assert.equal(await reader.closed, 4403)
  }
  await tryToCancel()
  const [refused] = await app.store.audit.list({ limit: 1, action: 'run.cancel' })
  assert.deepEqual([refused?.outcome, (await readRun(app, id, 0)).state], ['denied', 'running'])
  for (let times = 0; times < 8; times += 1) await tryToCancel()
  const refusals = await app.store.audit.list({ limit: 20, action: 'run.cancel' })
  assert.ok(refusals.length < 9, 'nobody can fill the log with it')
  const operator = await watch(t, app, `/projects/shop/runs/${id}/ws`)
  await until('he follows', async () => operator.frames.length > 0)
  operator.socket.send('{"type":"cancel"}')
  assert.equal(await operator.closed, 1000)
  const exit = operator.frames.at(-1)!
  assert.ok(exit.type === 'exit' && exit.run.state === 'cancelled', JSON.stringify(exit))
})

test('closing the socket ends nothing', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { frames, socket, closed } = await watch(t, app, '/projects/shop/actions/node.slow/ws')
  await until('it runs', async () => frames.some((frame) => frame.type === 'status' && frame.run.startedAt !== null))
  socket.close()
  await closed
  const started = frames[0]!
  assert.ok(started.type === 'start')
  assert.equal((await readRun(app, started.run.id, 0)).state, 'running')
})
