import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { CommandSpec, Exit, Limits, ProcessRun } from '@stackquay/engine-api'
import { type Conversation, converse } from '@stackquay/engine-api/conformance-conversation'
import { openControlGroups, whyNoLimits } from '../src/native/isolation/control-groups.ts'
import { type NativeHarness, nativeHarness } from './native-harness.ts'

const MiB = 1024 * 1024
const none: Limits = { cpus: null, memoryBytes: null, pids: null }
const memory: Limits = { ...none, memoryBytes: 96 * MiB }
const quiet = { health: { kind: 'none' } } as const
const quick = { signal: 'SIGTERM', deadlineSeconds: 2 } as const

/** Takes memory until it is ended. */
const eats = 'const all = []; for (;;) all.push(Buffer.alloc(4 << 20, 1))'
/** One that keeps its project waiting in any case: `fork` fails, and it goes on. */
const forks = 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass'

describe('limits on the native engine', () => {
  let harness: NativeHarness
  let talk: Conversation
  before(async () => {
    harness = await nativeHarness()
    talk = await converse(harness, 'secret')
  })
  after(async () => {
    await talk.end()
    await harness.close()
  })
  const limited = (source: string, limits: Limits): ProcessRun => ({ ...harness.script(source), limits })
  const shell = (source: string, limits: Limits): ProcessRun => ({
    kind: 'process',
    argv: ['/bin/sh', '-c', source],
    cwd: harness.directory,
    limits,
  })

  test('a program that takes more memory than it may is ended, and its end says so', { timeout: 20_000 }, async () => {
    const run = limited(eats, memory)
    const workload = await talk.workload('eater', { ...quiet, run })
    const events = talk.watch()
    await talk.start(workload)
    const event = await events.next((one) => one.type === 'exited')
    events.end()
    assert.ok(event.type === 'exited')
    assert.deepEqual([event.exit.signal, event.exit.outOfMemory], ['SIGKILL', true])
    assert.equal((await talk.observe('eater'))?.lastExit?.outOfMemory, true)
    await talk.stop(workload)
    assert.equal((await talk.observe('eater'))?.lastExit?.outOfMemory, true, 'also after a stop')
    await talk.remove(workload)
  })

  test('one that is never ready for lack of memory fails its start with the limit', { timeout: 20_000 }, async () => {
    const workload = await talk.workload('early', { run: limited(eats, memory) })
    const error = await talk.fails(talk.engine.plan({ type: 'start', workload }))
    assert.equal(error.code, 'exited_early')
    assert.match(error.message, /used more memory than its limit of 96 MiB/)
    assert.match(error.hint, /limits\.memoryBytes/)
    await talk.remove(workload)
  })

  test('an end while no instance watched is reported with its cause by the next', { timeout: 20_000 }, async () => {
    const own = await nativeHarness()
    const first = await converse(own, 'secret')
    const source = `setTimeout(() => { ${eats} }, 500)`
    const workload = await first.workload('unseen', { ...quiet, run: { ...own.script(source), limits: memory } })
    try {
      await first.start(workload)
      await first.end()
      const group = own.options.isolation?.groups?.unit(first.project, 'w-unseen')
      while (group === undefined || group.outOfMemory() === 0 || group.pids().length > 0) await delay(50)
      const second = await converse(own, 'secret')
      assert.equal((await second.observe('unseen'))?.lastExit?.outOfMemory, true)
      await second.remove(workload)
    } finally {
      await own.close()
    }
  })

  test('a child that is ended while its parent goes on is reported while it runs', { timeout: 20_000 }, async () => {
    const worker = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(eats)}])`
    const workload = await talk.workload('parent', {
      ...quiet,
      run: limited(`${worker}; setInterval(() => {}, 1000)`, memory),
    })
    const events = talk.watch()
    await talk.start(workload)
    await events.next((one) => one.type === 'limited')
    events.end()
    const seen = await talk.observe('parent')
    assert.deepEqual([seen?.state, seen?.limited], ['running', { outOfMemory: 1, processes: false }])
    await talk.stop(workload)
    const stopped = await talk.observe('parent')
    assert.deepEqual(
      [stopped?.limited, stopped?.lastExit?.outOfMemory],
      [undefined, undefined],
      'a stop is not for memory',
    )
    await talk.remove(workload)
  })

  test('a job that takes more memory than it may fails with the limit', { timeout: 20_000 }, async () => {
    const workload = await talk.workload('with-job', quiet)
    const job = talk.job('eat', limited(eats, memory))
    const error = await talk.fails(talk.engine.plan({ type: 'job', ref: workload.ref, job, force: false }))
    assert.equal(error.code, 'job_failed')
    assert.match(error.message, /used more memory than its limit of 96 MiB/)
    await talk.remove(workload)
  })

  test('a single program and a terminal are held to their limits too', { timeout: 30_000 }, async () => {
    const { argv, cwd } = harness.script(eats)
    const program = { argv, cwd, env: {}, data: [], limits: memory }
    const io = { stdin: null, output: async () => {} }
    const context = { signal: talk.signal, reveal: async () => '' }
    const exit: Exit = await talk.engine.commands.exec({ ...program, project: talk.project, stop: quick }, io, context)
    assert.deepEqual([exit.signal, exit.outOfMemory], ['SIGKILL', true])

    const ref = { project: talk.project, id: 'term_eats' }
    await talk.engine.commands.start(commandOf(ref, program, { cols: 80, rows: 24 }), context)
    let state = await talk.engine.commands.find(ref)
    while (state?.state === 'running') {
      await delay(50)
      state = await talk.engine.commands.find(ref)
    }
    assert.deepEqual([state?.exit?.signal, state?.exit?.outOfMemory], ['SIGKILL', true])
    await talk.engine.commands.remove(ref)
    assert.deepEqual(unitsOf(), [], 'their control groups are gone')
  })

  test('a program that fails for want of processes says so at its end', { timeout: 20_000 }, async () => {
    // Its start comes to its end first.
    const started = join(harness.directory, 'many-started')
    const source = `until [ -e '${started}' ]; do sleep 0.1; done; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done`
    const workload = await talk.workload('many', { ...quiet, run: shell(source, { ...none, pids: 8 }) })
    const events = talk.watch()
    await talk.start(workload)
    await writeFile(started, '')
    const event = await events.next((one) => one.type === 'exited')
    events.end()
    assert.ok(event.type === 'exited' && event.exit.outOfProcesses, JSON.stringify(event))
    await talk.remove(workload)
  })

  for (const [name, source] of [
    ['of a shell', '(bomb() { bomb | bomb & }; bomb) 2>/dev/null; exec sleep 1000'],
    ['of a loop', `exec /usr/bin/python3 -c '${forks}'`],
  ] as const) {
    test(`a fork bomb ${name} stays within its limit, is reported, and ends with a stop`, {
      timeout: 40_000,
    }, async () => {
      const workload = await talk.workload('bomb', {
        ...quiet,
        run: shell(source, { ...none, pids: 60, cpus: 0.5 }),
        stop: quick,
      })
      const events = talk.watch()
      await talk.start(workload)
      await events.next((one) => one.type === 'limited')
      events.end()
      const group = groupOf('w-bomb')
      assert.equal((await talk.observe('bomb'))?.limited?.processes, true)
      assert.ok(group.pids().length <= 60, `${group.pids().length} processes`)
      const begun = performance.now()
      await talk.stop(workload)
      assert.ok(performance.now() - begun < 10_000, `the stop took ${performance.now() - begun} ms`)
      assert.deepEqual(group.pids(), [])
      assert.deepEqual(await harness.leftovers(), [])
      await talk.remove(workload)
    })
  }

  test('thousands of processes end within seconds, and leave the event loop its turn', {
    timeout: 60_000,
  }, async () => {
    const ignores = `import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n${forks.replace('pass', 'signal.pause()')}`
    const run = shell(`exec /usr/bin/python3 -c '${ignores}'`, { ...none, pids: 2000, cpus: 1 })
    const workload = await talk.workload('crowd', { ...quiet, run, stop: quick })
    await talk.start(workload)
    const group = groupOf('w-crowd')
    const deadline = performance.now() + 20_000
    while (group.pids().length < 1900 && performance.now() < deadline) await delay(50)
    assert.ok(group.pids().length >= 1900, `${group.pids().length} processes`)
    let turns = 0
    const turning = setInterval(() => (turns += 1), 10)
    const begun = performance.now()
    await talk.stop(workload)
    const took = performance.now() - begun
    clearInterval(turning)
    assert.ok(took < 12_000, `the stop took ${took} ms`)
    assert.ok(turns * 10 > took / 4, `the loop had ${turns} turns in ${took} ms`)
    assert.deepEqual(group.pids(), [])
    await talk.remove(workload)
  })

  test('without cgroup.kill a group is frozen, and a fork bomb ends all the same', { timeout: 30_000 }, async () => {
    const instance = 'frozen0test'
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    const old = mounts
      .split('\n')
      .filter((line) => !line.includes(' - cgroup2 '))
      .join('\n')
    const groups = openControlGroups(instance, old)
    assert.ok(groups?.limits)
    const own = await nativeHarness('user', { groups })
    const chat = await converse(own, 'secret')
    try {
      const source = `exec /usr/bin/python3 -c '${forks}'`
      const run: ProcessRun = {
        kind: 'process',
        argv: ['/bin/sh', '-c', source],
        cwd: own.directory,
        limits: { ...none, pids: 100, cpus: 0.5 },
      }
      const workload = await chat.workload('bomb', { ...quiet, run, stop: quick })
      await chat.start(workload)
      const group = groups.unit(chat.project, 'w-bomb')
      while (group.refusedProcesses() === 0) await delay(20)
      await chat.stop(workload)
      assert.deepEqual(group.pids(), [])
      await chat.remove(workload)
      assert.ok(!existsSync(`/sys/fs/cgroup/pids/stackquay-${instance}`), 'nothing of the tree is left')
    } finally {
      await chat.end()
      await own.close()
    }
  })

  test('two busy threads get half a core together', { timeout: 30_000 }, async () => {
    const source = `
      const { Worker } = require('worker_threads')
      for (const _ of [1, 2]) new Worker('for (;;);', { eval: true })
      setTimeout(() => console.log('busy'), 300)`
    const workload = await talk.workload('busy', {
      ...quiet,
      run: limited(source, { ...none, cpus: 0.5 }),
      stop: quick,
    })
    await talk.start(workload)
    await talk.engine.stats(talk.project, talk.signal)
    await delay(2000)
    const [sample] = await talk.engine.stats(talk.project, talk.signal)
    assert.ok(
      sample?.cpu !== null && sample !== undefined && sample.cpu > 0.05 && sample.cpu <= 0.6,
      `it got ${sample?.cpu} of a core`,
    )
    await talk.remove(workload)
  })

  test('limits that changed hold from the next start on', { timeout: 20_000 }, async () => {
    const wide = await talk.workload('changes', {
      run: { ...harness.programs.serve(), limits: { ...none, memoryBytes: 512 * MiB, pids: 99 } },
    })
    await talk.start(wide)
    assert.deepEqual(kernelLimits('changes'), { memory: 512 * MiB, pids: '99' })
    const narrow = talk.changed(wide, { run: { ...wide.run, limits: { ...none, memoryBytes: 256 * MiB } } })
    assert.notEqual(narrow.fingerprint, wide.fingerprint)
    await talk.start(narrow)
    assert.deepEqual(kernelLimits('changes'), { memory: 256 * MiB, pids: '4096' })
    const { limits: _limits, ...free } = wide.run
    await talk.start(talk.changed(wide, { run: free }))
    assert.ok(kernelLimits('changes').memory > 1024 ** 4)
    await talk.remove(wide)
  })

  test('a hundred thousand files are counted, stopped beside and deleted with the event loop free', {
    timeout: 60_000,
  }, async (t) => {
    // To make them on a busy disk takes longer than all that is measured.
    const own = await nativeHarness('user', {}, existsSync('/dev/shm') ? '/dev/shm' : undefined)
    const chat = await converse(own, 'secret')
    const source = `
      const fs = require('fs')
      for (let folder = 0; folder < 100; folder += 1) {
        fs.mkdirSync(process.env.FILES + '/' + folder)
        for (let file = 0; file < 1000; file += 1) fs.closeSync(fs.openSync(process.env.FILES + '/' + folder + '/' + file, 'w'))
      }
      console.log('made')
      setInterval(() => {}, 1000)`
    const data = [{ name: 'files', envName: 'FILES' }]
    const workload = await chat.workload('files', { ...quiet, run: own.script(source), data, stop: quick })
    const deletion = chat.engine.plan({ type: 'deleteData', project: chat.project, data: 'files' })
    const took: Record<string, number> = {}
    const timed = async <T>(what: string, act: () => Promise<T>) => {
      const begun = performance.now()
      const result = await act()
      took[what] = Math.round(performance.now() - begun)
      return result
    }
    try {
      await chat.start(workload)
      await chat.line(workload.ref, (line) => line.text === 'made')
      const delays = monitorEventLoopDelay({ resolution: 5 })
      delays.enable()
      const [found] = await timed('size', () => chat.engine.data(chat.project, chat.signal))
      assert.equal(found?.name, 'files')
      await timed('observe', () => chat.observe('files'))
      await timed('stop', () => chat.stop(workload))
      await timed('delete', async () => {
        for (const step of deletion) await chat.apply(step)
      })
      delays.disable()
      const slowest = delays.percentile(99) / 1e6
      t.diagnostic(
        `${JSON.stringify(took)} ms; 99 % of the delays of the event loop are under ${Math.round(slowest)} ms`,
      )
      assert.deepEqual(
        Object.entries(took).filter(([, milliseconds]) => milliseconds > 15_000),
        [],
      )
      assert.ok(slowest < 250, `the event loop was held for ${slowest} ms`)
      await chat.remove(workload)
    } finally {
      await chat.end()
      await own.close()
    }
  })

  test('a start whose program is missing, and a removed project, leave no control group', async () => {
    const run: ProcessRun = { kind: 'process', argv: ['/nowhere/program'], cwd: harness.directory, limits: memory }
    const workload = await talk.workload('absent', { ...quiet, run })
    await talk.fails(talk.engine.plan({ type: 'start', workload }))
    await talk.remove(workload)
    assert.deepEqual(unitsOf(), [])
    assert.ok(!existsSync(`/sys/fs/cgroup/pids/stackquay-${instanceOf()}`))
  })

  const instanceOf = () => /stackquay-([0-9a-f]{12})/.exec(groupOf('w-x').memoryEvents ?? '')?.[1] ?? ''
  const groupOf = (unit: string) => {
    const group = harness.options.isolation?.groups?.unit(talk.project, unit)
    assert.ok(group, 'this machine needs control groups for these tests')
    return group
  }
  const unitsOf = () => harness.options.isolation?.groups?.units(talk.project) ?? []
  /** As version 1 shows them, or version 2. */
  const kernelLimits = (name: string) => {
    const folder = join(groupOf(`w-${name}`).memoryEvents ?? '', '..')
    const text = (path: string) => readFileSync(path, 'utf8').trim()
    const one = join(folder, 'memory.limit_in_bytes')
    if (existsSync(one))
      return { memory: Number(text(one)), pids: text(join(folder.replace('/memory/', '/pids/'), 'pids.max')) }
    const most = text(join(folder, 'memory.max'))
    return { memory: most === 'max' ? Number.MAX_SAFE_INTEGER : Number(most), pids: text(join(folder, 'pids.max')) }
  }
})

describe('a machine without control groups', () => {
  test('says that limits are not available, and refuses a program that has some', { timeout: 20_000 }, async () => {
    const harness = await nativeHarness('user', { groups: null })
    const talk = await converse(harness, 'secret')
    try {
      assert.equal(talk.engine.capabilities.limits, false)
      assert.match(talk.engine.capabilities.withoutLimits ?? '', /cannot make control groups .* in containers\.$/)
      const workload = await talk.workload('limited', {
        ...quiet,
        run: { ...harness.programs.serve(), limits: memory },
      })
      const error = await talk.fails(talk.engine.plan({ type: 'start', workload }))
      assert.equal(error.code, 'engine_cannot')
      assert.match(error.hint, /"limits": null/)
      const free = talk.changed(workload, { run: harness.programs.serve() })
      await talk.start(free)
      assert.equal((await talk.observe('limited'))?.state, 'running')
      await talk.remove(free)
    } finally {
      await talk.end()
      await harness.close()
    }
  })

  test('names the controllers that are missing, and still ends whole groups', () => {
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
    const lame = mounts.filter((line) => !/ - cgroup \S+ \S*\bpids\b/.test(line)).join('\n')
    if (lame === mounts.join('\n'))
      return assert.ok(openControlGroups('lame0test')?.limits, 'version 2 has them all in one tree')
    const groups = openControlGroups('lame0test', lame)
    assert.deepEqual([groups?.limits, groups?.missing], [false, ['pids']])
    assert.match(whyNoLimits(groups) ?? '', /lack pids\./)
  })

  test('is one where the folders are of another file system, or cannot be written', async () => {
    const folder = join('/tmp', `stackquay-no-groups-${process.pid}`)
    await mkdir(folder)
    try {
      await writeFile(join(folder, 'cgroup.procs'), '')
      assert.equal(openControlGroups('none0test', `30 20 0:26 / ${folder} rw - cgroup2 cgroup2 rw`), null)
      assert.equal(openControlGroups('none0test', ''), null)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('takes no name that leads out of its tree', () => {
    const groups = openControlGroups('names0test')
    for (const name of ['..', '.', 'a/b', '', '.trial-1-x', 'a\n'])
      assert.throws(() => groups?.unit('project', name), /cannot be the name of a control group/, JSON.stringify(name))
  })
})

function commandOf(
  ref: CommandSpec['ref'],
  program: Pick<CommandSpec, 'argv' | 'cwd' | 'env' | 'data' | 'limits'>,
  terminal: CommandSpec['terminal'],
): CommandSpec {
  const { argv, cwd, env, data, limits } = program
  const rest = { terminal, timeoutSeconds: null, idleSeconds: null, stop: quick, keepBytes: 1 << 20 }
  return { ref, argv, cwd, env, data, ...(limits === undefined ? {} : { limits }), ...rest }
}
