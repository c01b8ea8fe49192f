import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Step } from '@stackquay/engine-api'
import { type Conversation, converse } from '@stackquay/engine-api/conformance-conversation'
import { exists } from '../src/native/waiting.ts'
import { type NativeHarness, nativeHarness } from './native-harness.ts'

describe('the native engine after a crash of the control plane', () => {
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

  const recordPath = (workload: string) => join(harness.options.home, 'run', talk.project, `${workload}.json`)

  /** Turns the record back to what it was before the pid was known. */
  async function forgetPid(workload: string): Promise<void> {
    const record = JSON.parse(await readFile(recordPath(workload), 'utf8'))
    await writeFile(
      recordPath(workload),
      JSON.stringify({ ...record, phase: 'starting', run: { ...record.run, process: null } }),
    )
  }

  test('a process whose pid was never written down is found by its marker', async () => {
    const workload = await talk.workload('orphan')
    await talk.start(workload)
    const before = await talk.observe('orphan')
    await talk.engine.close()
    await forgetPid('orphan')

    talk = await converse(harness, 'secret')
    const found = await talk.observe('orphan')
    assert.deepEqual([found?.state, found?.pid, found?.health], ['running', before?.pid, 'healthy'])
    await talk.start(workload)
    assert.equal((await talk.observe('orphan'))?.pid, before?.pid)
    assert.equal((await harness.leftovers()).length, 2)
    await talk.remove(workload)
    assert.deepEqual(await harness.leftovers(), [])
  })

  test('processes are found and ended even when the record is lost or broken', async () => {
    const workload = await talk.workload('lost')
    await talk.start(workload)
    await talk.engine.close()
    await writeFile(recordPath('lost'), '{"version":1,"ph')

    talk = await converse(harness, 'secret')
    assert.deepEqual(await talk.engine.projects(talk.signal), [talk.project])
    await talk.start(workload)
    assert.equal((await harness.leftovers()).length, 2, 'the lost process must be ended before another one starts')
    await talk.remove(workload)
  })

  test('how a program ended without an instance is learnt from its exit file', async () => {
    const workload = await talk.workload('unseen', {
      run: harness.script("console.log('begun'); setTimeout(() => process.exit(9), 300)"),
      health: { kind: 'none' },
    })
    await talk.start(workload)
    // Until then it is not yet a process of the project's user, which is what is waited for below.
    await talk.line(workload.ref, (line) => line.text === 'begun')
    await talk.engine.close()
    while ((await harness.leftovers()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))

    talk = await converse(harness, 'secret')
    const seen = await talk.observe('unseen')
    assert.deepEqual([seen?.state, seen?.lastExit?.code], ['exited', 9])
    await talk.remove(workload)
  })

  test('an intent without a process is a workload that never ran', async () => {
    const workload = await talk.workload('intent', { health: { kind: 'none' } })
    await talk.start(workload)
    await talk.stop(workload)
    const record = JSON.parse(await readFile(recordPath('intent'), 'utf8'))
    const run = { ...record.run, id: 'never', marker: `${record.run.marker}x`, process: null }
    await writeFile(recordPath('intent'), JSON.stringify({ ...record, phase: 'starting', run }))
    const seen = await talk.observe('intent')
    assert.deepEqual([seen?.state, seen?.pid], ['stopped', null])
    await talk.start(workload)
    assert.equal((await talk.observe('intent'))?.state, 'running')
    await talk.remove(workload)
  })

  test('a pid that belongs to another process by now is left alone', async () => {
    const workload = await talk.workload('reused')
    await talk.start(workload)
    await talk.stop(workload)
    const record = JSON.parse(await readFile(recordPath('reused'), 'utf8'))
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' })
    const reused = { ...record.run.process, pid: stranger.pid }
    await writeFile(
      recordPath('reused'),
      JSON.stringify({ ...record, phase: 'running', run: { ...record.run, process: reused } }),
    )
    assert.notEqual((await talk.observe('reused'))?.state, 'running')
    await talk.stop(workload)
    await talk.remove(workload)
    assert.equal(stranger.exitCode, null)
    assert.equal(stranger.signalCode, null)
    stranger.kill('SIGKILL')
    await once(stranger, 'exit')
  })

  test('a program goes on when its control plane is killed, and writes its log meanwhile', async () => {
    const run = harness.script("let n = 0; setInterval(() => console.log('tick ' + n++), 20)")
    const workload = await talk.workload('survivor', { run, health: { kind: 'none' } })
    await killedAfter({ id: 's', title: 'Start', do: 'start', workload }, 'done')
    const seen = await talk.observe('survivor')
    assert.equal(seen?.state, 'running')
    await talk.line(workload.ref, (line) => line.text === 'tick 20')
    await talk.remove(workload)
  })

  test('a job that was left running is ended, cleaned up after and run again', async () => {
    const made = join(harness.directory, 'made')
    const source = `require('fs').mkdirSync(${JSON.stringify(made)}, { recursive: true }); require('fs').writeFileSync(${JSON.stringify(join(made, 'half'))}, '');
      if (!require('fs').existsSync(${JSON.stringify(join(harness.directory, 'quick'))})) { console.log('hanging'); setInterval(() => {}, 1000) }`
    const job = talk.job('install', harness.script(source), { creates: made, removeCreatesOnFailure: true })
    const ref = { project: talk.project, workload: 'halfway' }
    const step: Step = { id: 'j', title: 'Install', do: 'job', ref, job, force: false }
    await killedAfter(step, 'hanging')
    assert.equal((await harness.leftovers()).length, 1)
    assert.ok(await exists(join(made, 'half')))

    await writeFile(join(harness.directory, 'quick'), '')
    await writeFile(join(made, 'from-before'), '')
    await talk.apply(step)
    assert.deepEqual(await harness.leftovers(), [])
    assert.equal(await exists(join(made, 'from-before')), false)
    assert.equal(await exists(join(made, 'half')), true)
    await talk.remove(await talk.workload('halfway'))
  })

  test('two control planes that start the same workload at once make one process', async () => {
    const workload = await talk.workload('race')
    const others = await Promise.all([harness.open(), harness.open()])
    const start: Step = { id: 's', title: 'Start', do: 'start', workload }
    const inChild = killedAfter(start, 'done')
    await Promise.all([...[talk.engine, ...others].map((engine) => engine.apply(start, talk.context())), inChild])
    assert.equal((await harness.leftovers()).length, 2, 'one program and the shell that keeps its exit code')
    for (const engine of others) await engine.close()
    await talk.remove(workload)
  })

  /** Applies a step in a process of its own, which is killed as soon as it said the word. */
  async function killedAfter(step: Step, word: string): Promise<void> {
    const source = `
      import { createNativeEngine } from ${JSON.stringify(new URL('../src/native/index.ts', import.meta.url).href)}
      const engine = await createNativeEngine(${harness.optionsElsewhere})
      await engine.apply(${JSON.stringify(step)}, {
        signal: new AbortController().signal,
        reveal: async () => 'secret',
        output: (chunk) => process.stdout.write(chunk.text),
      })
      console.log('done')
      setInterval(() => {}, 1000)`
    const plane = spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    for await (const chunk of plane.stdout) {
      said += String(chunk)
      if (said.includes(word)) break
    }
    assert.ok(said.includes(word), `the control plane ended too early, after: ${said}`)
    const gone = once(plane, 'exit')
    plane.kill('SIGKILL')
    await gone
  }
})
