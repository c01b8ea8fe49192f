import assert from 'node:assert/strict'
import { access, chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { dataPath, type Job, type Step } from '@stackquay/engine-api'
import { type Conversation, converse } from '@stackquay/engine-api/conformance-conversation'
import { exists } from '../src/native/waiting.ts'
import { type NativeHarness, nativeHarness } from './native-harness.ts'

describe('jobs of the native engine', () => {
  let harness: NativeHarness
  let talk: Conversation
  let counter: string
  before(async () => {
    harness = await nativeHarness()
    talk = await converse(harness, 'secret')
  })
  beforeEach(async () => {
    counter = join(harness.directory, `count-${Math.random()}`)
  })
  after(async () => {
    await talk.end()
    await harness.close()
  })

  /** A job that notes each run, and then runs a shell line. */
  function counted(name: string, script: string, changes: Partial<Job> = {}): Job {
    const job = talk.job(name, harness.programs.hang(), changes)
    return { ...job, argv: ['/bin/sh', '-c', `echo run >> ${counter}; ${script}`] }
  }
  const runs = async () =>
    (await exists(counter)) ? readFile(counter, 'utf8').then((text) => text.split('\n').length - 1) : 0
  const step = (job: Job, force = false): Step => ({
    id: 'j',
    title: job.title,
    do: 'job',
    ref: { project: talk.project, workload: 'w' },
    job,
    force,
  })

  test('it runs again when an input, its command or its environment changes, or what it made is gone', async () => {
    const input = join(harness.directory, 'lock.json')
    const made = join(harness.directory, 'modules')
    const job = counted('install', `mkdir -p ${made}; touch ${made}/x`, { inputs: [input], creates: made })
    const expected = async (count: number, changed: Job = job, force = false) => {
      await talk.apply(step(changed, force))
      assert.equal(await runs(), count)
    }
    await expected(1)
    await expected(1)
    await writeFile(input, 'v1')
    await expected(2)
    await writeFile(input, 'v1')
    await expected(2)
    await expected(3, { ...job, env: { A: [{ secret: 's', version: 2 }] } })
    await expected(4)
    await rm(made, { recursive: true })
    await expected(5)
    await expected(6, job, true)
  })

  test('one that runs once never runs again over what it made, whatever changes', async () => {
    const made = `${dataPath('main')}/VERSION`
    const init = (word: string) =>
      counted('init', `echo ${word} > "$MADE"`, { env: { MADE: made }, creates: made, once: true })
    await talk.apply(step(init('one')))
    await talk.apply(step(init('two')))
    await talk.apply(step(init('three'), true))
    assert.equal(await runs(), 1)
    const other: Step = { ...step(init('copied')), ref: { project: 'twin', workload: 'w' } } as Step
    await talk.engine.copyData(
      { project: talk.project, name: 'main' },
      { project: 'twin', name: 'main' },
      {},
      talk.signal,
    )
    await talk.apply(other)
    assert.equal(await runs(), 1, 'copied data counts as made')
    for (const project of [talk.project, 'twin'])
      await talk.apply({ id: 'd', title: 'Delete', do: 'deleteData', project, data: 'main' })
    await talk.apply(step(init('four')))
    assert.equal(await runs(), 2, 'deleted data is made again')
    await talk.apply({ id: 'd', title: 'Delete', do: 'deleteData', project: talk.project, data: 'main' })
  })

  test('what a failed job made half is removed, and only by the rights of the workload user', async () => {
    const made = join(harness.directory, 'half')
    const job = counted('half', `mkdir -p ${made}; touch ${made}/x; exit 1`, {
      creates: made,
      removeCreatesOnFailure: true,
    })
    assert.equal((await talk.fails([step(job)])).code, 'job_failed')
    assert.equal(await exists(made), false)
    if (!harness.hasUsers) return

    const treasure = join(harness.options.home, 'logs', 'treasure')
    await mkdir(treasure, { recursive: true })
    await writeFile(join(treasure, 'x'), '')
    await symlink(join(harness.options.home, 'logs'), join(harness.directory, 'link'))
    const trick = counted('trick', 'exit 1', {
      creates: join(harness.directory, 'link', 'treasure'),
      removeCreatesOnFailure: true,
    })
    await talk.fails([step(trick)])
    await access(join(treasure, 'x'))
    await rm(treasure, { recursive: true })
  })

  test('standard input, environment and kept data reach it; its output is in the log of the workload', async () => {
    const script = 'cat; echo " $(pwd) $WHO" >&2'
    const output: string[] = []
    const job = counted('talk', script, {
      stdin: ['in:', { secret: 's', version: 1 }, '\n'],
      env: { WHO: 'me' },
      cwd: dataPath('place'),
    })
    await talk.apply(step({ ...job, argv: ['/bin/sh', '-c', script] }), { output })
    const place = join(harness.options.home, 'data', talk.project, 'place')
    assert.deepEqual(
      output
        .join('')
        .split('\n')
        .filter((line) => line !== '')
        .sort(),
      [` ${place} me`, 'in:secret'],
    )
    const lines = await Array.fromAsync(
      talk.engine.logs({ project: talk.project, workload: 'w' }, { tail: 2 }, talk.signal),
    )
    assert.deepEqual(lines.map((line) => `${line.stream} ${line.text}`).sort(), [
      `stderr  ${place} me`,
      'stdout in:secret',
    ])
    await talk.apply({ id: 'd', title: 'Delete', do: 'deleteData', project: talk.project, data: 'place' })
  })

  test('helpers that outlive a job are ended with it', async () => {
    await talk.apply(step(counted('helper', 'sleep 600 &')))
    assert.deepEqual(await harness.leftovers(), [])
  })

  test('a directory that only root may enter is named', async () => {
    if (!harness.hasUsers) return
    const closed = join(harness.directory, 'closed')
    await mkdir(closed)
    await chmod(closed, 0o700)
    const error = await talk.fails([step({ ...counted('closed', 'true'), cwd: closed })])
    assert.match(error.message, /which the project’s user \(uid \d+\) cannot enter/)
    await rm(closed, { recursive: true })
  })

  test('nothing of a removed workload is left in the run directory', async () => {
    const workload = await talk.workload('w')
    await talk.remove(workload)
    await talk.remove({ ...workload, ref: { project: 'twin', workload: 'w' } })
    assert.deepEqual(await readdir(join(harness.options.home, 'run')), [])
    for (const project of [talk.project, 'twin']) await talk.engine.removeLogs(project, talk.signal)
    assert.deepEqual(await talk.engine.projects(talk.signal), [])
  })
})
