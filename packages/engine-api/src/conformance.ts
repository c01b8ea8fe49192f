import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Step } from './change.ts'
import { archiveEntry, hostileArchives, namesIn } from './conformance-archives.ts'
import { asidesConformance } from './conformance-asides.ts'
import { commandsConformance } from './conformance-commands.ts'
import { type Conversation, converse } from './conformance-conversation.ts'
import type { Harness } from './conformance-harness.ts'
import { EngineError } from './errors.ts'
import type { LogLine, LogOptions } from './observed.ts'
import { dataPath } from './workload.ts'

export type { Harness, HarnessCommands, HarnessPrograms } from './conformance-harness.ts'

const SECRET = 'hunter2-hunter2-hunter2'

/** What every engine promises, tried out. An engine's own tests add what only its machine can do. */
export function engineConformance(name: string, makeHarness: () => Promise<Harness>): void {
  commandsConformance(name, makeHarness)
  asidesConformance(name, makeHarness)
  describe(`the engine ${name}`, () => {
    let harness: Harness
    let talk: Conversation
    before(async () => {
      harness = await makeHarness()
      talk = await converse(harness, SECRET)
    })
    after(async () => {
      await talk.end()
      await harness.close()
    })

    test('planning is deterministic and touches nothing', async () => {
      const workload = await talk.workload('planned')
      const one = talk.engine.plan({ type: 'start', workload })
      assert.deepEqual(talk.engine.plan({ type: 'start', workload }), one)
      assert.deepEqual(
        actsOf(one).map((step) => step.do),
        ['start', 'ready'],
      )
      assert.deepEqual(await talk.engine.observe(talk.project, talk.signal), [])
      assert.deepEqual(await talk.engine.projects(talk.signal), [])
    })

    test('every kind of change has steps with unique ids and titles, which survive JSON', async () => {
      const workload = await talk.workload('steps', { setup: [talk.job('install', harness.programs.exit(0, []))] })
      const { ref, title, stop } = workload
      const kinds = [
        [talk.engine.plan({ type: 'start', workload }), 'job start ready'],
        [talk.engine.plan({ type: 'replace', workload, because: ['env'] }), 'stop job start ready'],
        [talk.engine.plan({ type: 'stop', ref, title, stop }), 'stop'],
        [talk.engine.plan({ type: 'remove', ref, title, stop }), 'stop remove'],
        [talk.engine.plan({ type: 'job', ref, job: talk.job('j', harness.programs.exit(0, [])), force: true }), 'job'],
        [talk.engine.plan({ type: 'deleteData', project: ref.project, data: 'main' }), 'deleteData'],
      ] as const
      for (const [steps, wanted] of kinds) {
        assert.equal(
          actsOf(steps)
            .map((step) => step.do)
            .join(' '),
          wanted,
        )
        assert.equal(new Set(steps.map((step) => step.id)).size, steps.length)
        assert.ok(steps.every((step) => step.title.length > 3))
        assert.deepEqual(JSON.parse(JSON.stringify(steps)), steps)
      }
    })

    test('its capabilities are true of it', async () => {
      const { processes, images, imageRollback, limits, withoutLimits, mayBeAway } = talk.engine.capabilities
      assert.ok(processes || images, 'it runs something')
      assert.ok(images || !imageRollback, 'builds of images are for those who have images')
      assert.ok(!limits || withoutLimits === undefined, 'nothing is missing where it can limit')
      if (!mayBeAway) assert.ok((await talk.engine.probe(talk.signal)).ready, 'one that cannot be away is there')
      if (!processes) assert.deepEqual(await talk.engine.toolchains([], talk.signal), [], 'no program of this machine')
      const { ref } = await talk.workload('incapable')
      const pull: Step = {
        id: 'pull:x',
        title: 'Get the image',
        do: 'pull',
        ref,
        image: 'x:1',
        build: null,
        newer: false,
      }
      if (!images) assert.equal((await talk.fails([pull])).code, 'engine_cannot')
    })

    test('a workload starts, becomes healthy, has an address, and stops', async () => {
      const workload = await talk.workload('web')
      await talk.start(workload)
      const running = await talk.observe('web')
      assert.equal(running?.state, 'running')
      assert.equal(running.health, 'healthy')
      assert.equal(running.fingerprint, workload.fingerprint)
      assert.ok(running.pid !== null && running.pid > 1)
      const address = await talk.engine.address(workload.ref, 'http')
      const [http] = workload.ports
      // On a machine these are one number; a container is reached at its own port or at the published one.
      assert.ok(address !== null && [http?.port, http?.hostPort].includes(address.port), JSON.stringify(address))
      assert.equal(await talk.engine.address(workload.ref, 'no-such-port'), null)
      await talk.stop(workload)
      const stopped = await talk.observe('web')
      assert.equal(stopped?.state, 'stopped')
      assert.equal(stopped.pid, null)
      assert.equal(await talk.engine.address(workload.ref, 'http'), null)
      await talk.remove(workload)
    })

    test('each step twice is the same as once', async () => {
      const workload = await talk.workload('twice', {
        data: [{ name: 'twice' }],
        setup: [talk.job('init', harness.programs.exit(0, ['made']))],
      })
      const output: string[] = []
      const twice = async (steps: readonly Step[]) => {
        for (const step of steps) {
          await talk.apply(step, { output })
          await talk.apply(step, { output })
        }
      }
      await twice(talk.engine.plan({ type: 'start', workload }))
      const pid = (await talk.observe('twice'))?.pid
      await twice(talk.engine.plan({ type: 'start', workload }))
      assert.equal((await talk.observe('twice'))?.pid, pid, 'a second start must not make a second process')
      assert.equal(output.join('').match(/made/g)?.length, 1, 'a job whose work is done must not run again')
      await twice(talk.engine.plan({ type: 'remove', ref: workload.ref, title: workload.title, stop: workload.stop }))
      await twice(talk.engine.plan({ type: 'deleteData', project: talk.project, data: 'twice' }))
      assert.deepEqual(await talk.engine.observe(talk.project, talk.signal), [])
      await talk.engine.removeLogs(talk.project, talk.signal)
      assert.deepEqual(await talk.engine.projects(talk.signal), [])
    })

    test('a start in another form replaces the process', async () => {
      const workload = await talk.workload('form')
      await talk.start(workload)
      const before = await talk.observe('form')
      const changed = talk.changed(workload, { env: { ...workload.env, MODE: 'other' } })
      await talk.start(changed)
      const now = await talk.observe('form')
      assert.notEqual(now?.pid, before?.pid)
      assert.equal(now?.fingerprint, changed.fingerprint)
      await talk.remove(changed)
    })

    test('a second instance over the same machine finds what the first started, and can stop it', async () => {
      const workload = await talk.workload('adopted')
      await talk.start(workload)
      const first = await talk.observe('adopted')
      const second = await harness.open()
      const seen = (await second.observe(talk.project, talk.signal)).find((one) => one.ref.workload === 'adopted')
      assert.deepEqual(
        [seen?.state, seen?.pid, seen?.health, seen?.fingerprint],
        ['running', first?.pid, 'healthy', workload.fingerprint],
      )
      for (const step of second.plan({ type: 'start', workload })) await second.apply(step, talk.context())
      assert.equal((await talk.observe('adopted'))?.pid, first?.pid)
      for (const step of second.plan({
        type: 'remove',
        ref: workload.ref,
        title: workload.title,
        stop: workload.stop,
      })) {
        await second.apply(step, talk.context())
      }
      await second.close()
      assert.deepEqual(await talk.engine.observe(talk.project, talk.signal), [])
    })

    test('an end by itself is reported at once, with the exit code', async () => {
      const workload = await talk.workload('ends', {
        run: harness.programs.exit(3, ['one', 'two']),
        health: { kind: 'none' },
      })
      const events = talk.watch()
      await talk.apply({ id: 'start', title: 'Start', do: 'start', workload })
      const event = await events.next((one) => one.type === 'exited' && one.ref.workload === 'ends')
      assert.ok(event.type === 'exited')
      assert.equal(event.exit.code, 3)
      const seen = await talk.observe('ends')
      assert.equal(seen?.state, 'exited')
      assert.equal(seen.lastExit?.code, 3)
      events.end()
      await talk.remove(workload)
    })

    test('a stop by us is no end by itself', async () => {
      const workload = await talk.workload('quiet')
      const events = talk.watch()
      await talk.start(workload)
      await talk.stop(workload)
      await talk.start(workload)
      await events.next((one) => one.type === 'healthy' && events.seen('started') === 2)
      assert.equal(events.seen('exited'), 0)
      events.end()
      await talk.remove(workload)
    })

    test('a program that ends before it is ready fails the step, with its last lines', async () => {
      const workload = await talk.workload('early', { run: harness.programs.exit(7, ['cannot find module x']) })
      const error = await talk.fails(talk.engine.plan({ type: 'start', workload }))
      assert.equal(error.code, 'exited_early')
      assert.match(error.message, /exit code 7/)
      assert.ok(error.logTail.includes('cannot find module x'))
      await talk.remove(workload)
    })

    test('a program that never listens fails the step when its time is over', async () => {
      const workload = await talk.workload('deaf', { run: harness.programs.neverListen() })
      const error = await talk.fails(talk.engine.plan({ type: 'start', workload }))
      assert.equal(error.code, 'never_ready')
      assert.ok(error.hint.length > 10)
      await talk.remove(workload)
    })

    test('a program that is not there is said to be not there', async () => {
      const workload = await talk.workload('missing', { run: harness.programs.missing() })
      const error = await talk.fails(talk.engine.plan({ type: 'start', workload }))
      assert.equal(error.code, 'program_not_found')
      await talk.remove(workload)
    })

    test('values of the environment arrive byte for byte', async () => {
      const value = `a'b"c $HOME #d \`e\` \\n\n\tüñ→🦆 {data:none} %PATH% !`
      const env = { ODD: [value, { secret: 'password', version: 1 }] }
      const workload = await talk.workload('bytes', {
        run: harness.programs.print('ODD'),
        env,
        health: { kind: 'none' },
      })
      await talk.start(workload)
      const line = await talk.line(workload.ref, (one) => one.text.startsWith('"'))
      assert.equal(JSON.parse(line.text), value + SECRET)
      await talk.remove(workload)
    })

    test('no secret stands in a step or in what the engine keeps', async () => {
      const env = {
        PASSWORD: [{ secret: 'password', version: 1 }],
        URL: ['db://u:', { secret: 'password', version: 1, encode: 'url' as const }, '@h'],
      }
      const workload = await talk.workload('secretive', {
        env,
        setup: [talk.job('install', harness.programs.exit(0, []), { env })],
      })
      assert.ok(!JSON.stringify(talk.engine.plan({ type: 'start', workload })).includes(SECRET))
      await talk.start(workload)
      const kept = await harness.keptTexts()
      assert.ok(kept.length > 0)
      assert.deepEqual(
        kept.filter((text) => text.includes(SECRET)),
        [],
      )
      await talk.remove(workload)
    })

    test('a workload waits for its required file, says so, and is unblocked by it', async () => {
      const path = `${harness.directory}/package.json`
      const requires = [{ anyOf: [path, `${path}5`] as const, hint: 'Add a package.json.' }]
      const workload = await talk.workload('waits', { requires })
      const events = talk.watch()
      await talk.start(workload)
      const waiting = await talk.observe('waits')
      assert.deepEqual([waiting?.state, waiting?.reason, waiting?.pid], ['waiting', 'Add a package.json.', null])
      await harness.addFile(path)
      await events.next((one) => one.type === 'unblocked' && one.ref.workload === 'waits')
      assert.equal((await talk.observe('waits'))?.state, 'stopped')
      await talk.start(workload)
      assert.equal((await talk.observe('waits'))?.state, 'running')
      events.end()
      await talk.remove(workload)
    })

    test('a taken port is refused with the name of its owner', async () => {
      const workload = await talk.workload('conflict')
      const port = workload.ports[0]?.hostPort ?? 0
      const owner = await harness.holdPort(port)
      const error = await talk.fails(talk.engine.plan({ type: 'start', workload }))
      assert.equal(error.code, 'port_in_use')
      assert.equal(error.message, `Port ${port} is used by "${owner.program}" (pid ${owner.pid}).`)
      assert.equal((await talk.engine.portOwner(port, talk.signal))?.pid, owner.pid)
      assert.notEqual((await talk.observe('conflict'))?.state, 'running')
      await owner.release()
      await talk.remove(workload)
    })

    test('output of a job is streamed; its failure carries the exit code and the last lines', async () => {
      const output: string[] = []
      const ref = { project: talk.project, workload: 'jobs' }
      const [step] = actsOf(
        talk.engine.plan({
          type: 'job',
          ref,
          job: talk.job('install', harness.programs.exit(4, ['resolving', 'no such package'])),
          force: false,
        }),
      )
      assert.ok(step)
      const error = await talk.fails([step], { output })
      assert.equal(error.code, 'job_failed')
      assert.match(error.message, /exit code 4/)
      assert.equal(error.logTail.at(-1), 'no such package')
      assert.match(output.join(''), /resolving\n/)
      await talk.remove(await talk.workload('jobs'))
    })

    test('a job that takes too long is ended', async () => {
      const ref = { project: talk.project, workload: 'slow' }
      const [step] = actsOf(
        talk.engine.plan({
          type: 'job',
          ref,
          job: talk.job('install', harness.programs.hang(), { timeoutSeconds: 0.2 }),
          force: false,
        }),
      )
      assert.ok(step)
      assert.equal((await talk.fails([step])).code, 'job_timeout')
      assert.deepEqual(await harness.leftovers(), [])
      await talk.remove(await talk.workload('slow'))
    })

    test('a cancelled step ends promptly and leaves nothing', async () => {
      const ref = { project: talk.project, workload: 'cancelled' }
      const [step] = actsOf(
        talk.engine.plan({
          type: 'job',
          ref,
          job: talk.job('install', harness.programs.hang()),
          force: false,
        }),
      )
      assert.ok(step)
      const abort = new AbortController()
      const began = performance.now()
      setTimeout(() => abort.abort(), 150)
      assert.equal((await talk.fails([step], { signal: abort.signal })).code, 'aborted')
      assert.ok(performance.now() - began < 3000)
      assert.deepEqual(await harness.leftovers(), [])

      const deaf = await talk.workload('cancelled', { run: harness.programs.neverListen() }, 60)
      const [start, ready] = actsOf(talk.engine.plan({ type: 'start', workload: deaf }))
      assert.ok(start && ready)
      await talk.apply(start)
      assert.equal((await talk.fails([ready], { signal: AbortSignal.timeout(100) })).code, 'aborted')
      assert.equal((await talk.fails([start], { signal: AbortSignal.abort() })).code, 'aborted')
      await talk.remove(deaf)
    })

    test('lines of the log come once each, in order, and go on after a cursor in another instance', async () => {
      const lines = Array.from({ length: 50 }, (_, at) => `line ${at}`)
      const workload = await talk.workload('chatty', { run: harness.programs.exit(0, lines), health: { kind: 'none' } })
      await talk.start(workload).catch(() => {})
      await talk.line(workload.ref, (one) => one.text === 'line 49')
      const read = (engine: typeof talk.engine, options: LogOptions) =>
        Array.fromAsync(engine.logs(workload.ref, options, talk.signal), (line: LogLine) => line)
      const all = await read(talk.engine, {})
      assert.deepEqual(
        all.map((line) => line.text),
        lines,
      )
      assert.ok(all.every((line) => /^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/.test(line.time) && line.stream === 'stdout'))
      assert.deepEqual(
        (await read(talk.engine, { tail: 3 })).map((line) => line.text),
        lines.slice(-3),
      )
      const second = await harness.open()
      assert.deepEqual(
        (await read(second, { after: all[19]?.cursor ?? '' })).map((line) => line.text),
        lines.slice(20),
      )
      await second.close()

      await talk.start(talk.changed(workload, { env: { AGAIN: '1' } })).catch(() => {})
      const abort = new AbortController()
      const followed: string[] = []
      for await (const line of talk.engine.logs(
        workload.ref,
        { follow: true, after: all.at(-1)?.cursor ?? '' },
        abort.signal,
      )) {
        followed.push(line.text)
        if (line.text === 'line 49') abort.abort()
      }
      assert.deepEqual(followed, lines, 'following goes on with the next run')

      const texts = async (options: LogOptions) => (await read(talk.engine, options)).map((line) => line.text)
      const [first, twentieth] = [all[0], all[19]]
      assert.ok(first && twentieth)
      assert.deepEqual(await texts({ upTo: twentieth.cursor }), lines.slice(0, 20))
      assert.deepEqual(await texts({ upTo: twentieth.cursor, tail: 2 }), lines.slice(18, 20))
      assert.deepEqual(await texts({ since: first.time }), [...lines, ...lines])
      assert.deepEqual(await texts({ since: '2100-01-01T00:00:00.000Z' }), [])
      assert.deepEqual(await texts({ until: '2000-01-01T00:00:00.000Z' }), [])
      assert.deepEqual((await texts({ until: all.at(-1)?.time ?? '' })).slice(0, 50), lines)

      await talk.remove(workload)
      assert.deepEqual(await texts({ tail: 1 }), ['line 49'], 'the log is kept when its workload is removed')
      await talk.engine.removeLogs(talk.project, talk.signal)
      assert.deepEqual(await texts({}), [])
    })

    test('batches hold the lines of the log, and a follower learns when these are all for now', async () => {
      const run = harness.programs.exit(0, ['one', 'two'])
      const workload = await talk.workload('batches', { run, health: { kind: 'none' } })
      await talk.start(workload).catch(() => {})
      await talk.line(workload.ref, (one) => one.text === 'two')
      const seen: string[] = []
      const abort = new AbortController()
      for await (const batch of talk.engine.logBatches(workload.ref, { follow: true }, abort.signal)) {
        seen.push(...batch.lines.map((line) => line.text))
        if (batch.lines.length === 0 && seen.length === 2) abort.abort()
      }
      assert.deepEqual(seen, ['one', 'two'])
      const all = await Array.fromAsync(talk.engine.logBatches(workload.ref, {}, talk.signal))
      assert.equal(all.flatMap((batch) => batch.lines).length, 2)
      await talk.remove(workload)
    })

    test('kept data survives stop and remove, is listed and copied, refuses deletion while used, and is deleted by its own step', async () => {
      const data = [{ name: 'main' }]
      const run = { ...harness.programs.serve(), cwd: harness.directory }
      const workload = await talk.workload('keeper', { data, run, env: { DIRECTORY: dataPath('main') } })
      await talk.start(workload)
      const [step] = talk.engine.plan({ type: 'deleteData', project: talk.project, data: 'main' })
      assert.ok(step)
      const error = await talk.fails([step])
      assert.equal(error.code, 'engine_cannot')
      await talk.stop(workload)
      await talk.remove(workload)
      assert.deepEqual(
        (await talk.engine.data(talk.project, talk.signal)).map((one) => one.name),
        ['main'],
      )
      const from = { project: talk.project, name: 'main' }
      const to = { project: 'copy', name: 'main' }
      const { method, bytes } = await talk.engine.copyData(from, to, {}, talk.signal)
      assert.ok(['copy-on-write', 'copy'].includes(method) && bytes >= 0, `${method} ${bytes}`)
      await assert.rejects(talk.engine.copyData(from, to, {}, talk.signal), EngineError)
      assert.deepEqual(
        (await talk.engine.data('copy', talk.signal)).map((one) => one.name),
        ['main'],
      )
      for (const project of [talk.project, 'copy']) {
        for (const one of talk.engine.plan({ type: 'deleteData', project, data: 'main' })) await talk.apply(one)
      }
      assert.deepEqual(await talk.engine.data(talk.project, talk.signal), [])
      await talk.engine.removeLogs(talk.project, talk.signal)
      assert.deepEqual(await talk.engine.projects(talk.signal), [])
    })

    test('kept data is read as an archive while nothing uses it, and made again of one', async () => {
      const data = [{ name: 'main' }]
      const run = { ...harness.programs.serve(), cwd: harness.directory }
      const workload = await talk.workload('archived', { data, run, env: { DIRECTORY: dataPath('main') } })
      await talk.start(workload)
      const { engine, project, signal } = talk
      const read = (owner: string, name: string) => Array.fromAsync(engine.readData(owner, name, signal))
      const refusal = async (promise: Promise<unknown>) => {
        const error = await promise.then(() => null).catch((reason: unknown) => reason)
        assert.ok(error instanceof EngineError, String(error))
        return error
      }
      const used = await refusal(read(project, 'main'))
      assert.deepEqual([used.code, used.retryable], ['engine_cannot', true])
      await talk.stop(workload)
      await talk.remove(workload)
      const archive = await read(project, 'main')
      assert.equal((await refusal(engine.writeData(project, 'main', from(archive), signal))).code, 'engine_cannot')
      assert.equal((await refusal(read(project, 'none'))).code, 'engine_cannot')

      await engine.writeData('restored', 'main', from(archive), signal)
      assert.deepEqual(await engine.dataNames('restored', signal), ['main'])
      const names = (chunks: readonly Buffer[]) => namesIn(Buffer.concat(chunks))
      assert.deepEqual(names(await read('restored', 'main')), names(archive))
      for (const one of [project, 'restored'])
        for (const step of engine.plan({ type: 'deleteData', project: one, data: 'main' })) await talk.apply(step)
    })

    test('an archive that leads out, is not whole, or was given up leaves no data behind', async () => {
      const { engine, signal } = talk
      const write = (archive: AsyncIterable<Uint8Array>, until = signal) =>
        engine
          .writeData('broken', 'main', archive, until)
          .then(() => null)
          .catch((reason: unknown) => reason)
      const nothing = async () => {
        assert.deepEqual(await engine.dataNames('broken', signal), [])
        assert.deepEqual(await engine.data('broken', signal), [])
      }
      for (const bytes of hostileArchives()) {
        const error = await write(from([bytes]))
        assert.ok(error instanceof EngineError && error.code === 'invalid_archive', String(error))
        await nothing()
      }
      const failure = new Error('The source fails.')
      const failing = async function* () {
        yield archiveEntry('./whole', '0', 'content')
        throw failure
      }
      assert.equal(await write(failing()), failure)
      await nothing()
      const abort = new AbortController()
      const endless = async function* () {
        yield archiveEntry('./whole', '0', 'content')
        setTimeout(() => abort.abort(), 50)
        await new Promise(() => {})
      }
      const error = await write(endless(), abort.signal)
      assert.ok(error instanceof EngineError && error.code === 'aborted', String(error))
      await nothing()
    })

    test('a running workload is measured', async () => {
      const workload = await talk.workload('measured')
      await talk.start(workload)
      const [first] = await talk.engine.stats(talk.project, talk.signal)
      assert.ok(first !== undefined && first.memoryBytes > 0 && first.processes > 0)
      const [second] = await talk.engine.stats(talk.project, talk.signal)
      assert.ok(second !== undefined && second.cpu !== null && second.cpu >= 0)
      const reading = async () =>
        (await talk.engine.readings(talk.signal)).find(({ ref }) => ref.workload === workload.ref.workload)
      const read = await reading()
      assert.ok(read !== undefined && read.memoryBytes > 0 && read.processes > 0 && read.cpuSeconds >= 0)
      const later = await reading()
      assert.ok(later !== undefined && later.run === read.run && later.cpuSeconds >= read.cpuSeconds)
      await talk.remove(workload)
      assert.deepEqual(await talk.engine.stats(talk.project, talk.signal), [])
      assert.equal(await reading(), undefined)
    })

    test('nothing is left running after everything was removed', async () => {
      assert.deepEqual(await harness.leftovers(), [])
      assert.deepEqual(await talk.engine.observe(talk.project, talk.signal), [])
    })
  })
}

/** The steps once the image is there, which an engine of images sees to first. */
function actsOf(steps: readonly Step[]): readonly Step[] {
  return steps.filter((step) => step.do !== 'pull')
}

async function* from(chunks: readonly Buffer[]): AsyncGenerator<Buffer, void> {
  yield* chunks
}
