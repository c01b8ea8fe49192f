import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type CommandSpec, EngineError, type ExecIo } from '@stackquay/engine-api'
import { type DockerLab, dockerLab } from '@stackquay/testkit/docker-lab'
import { createDockerCommands, type DockerCommands } from '../src/docker/commands/index.ts'
import { containerName } from '../src/docker/find.ts'
import { describe as describeWorkload } from '../src/docker/record.ts'
import { readShimState } from '../src/native/commands/command-files.ts'
import { containerOf, testDaemon } from './docker-daemon.ts'

const PATIENCE_MS = 60_000

describe('commands in containers', () => {
  let lab: DockerLab
  let daemon: Awaited<ReturnType<typeof testDaemon>>
  let commands: DockerCommands
  const closing = new AbortController()
  before(async () => {
    lab = await dockerLab()
    daemon = await testDaemon(lab.host)
    commands = createDockerCommands(daemon, closing.signal)
  })
  after(async () => {
    closing.abort()
    await commands.close()
    await daemon.remove()
    await lab.close()
  })

  const never = new AbortController().signal
  const context = { signal: never, reveal: async () => 'secret' }
  const stop = { signal: 'SIGTERM', deadlineSeconds: 1 } as const
  const program = (script: string) => ({
    argv: ['/bin/sh', '-c', script] as const,
    cwd: '/',
    env: { WORD: 'given' },
    data: [],
    container: containerOf(lab.image('debian')),
  })
  const spec = (id: string, script: string): CommandSpec => ({
    ...program(script),
    ref: { project: 'lab', id },
    terminal: null,
    timeoutSeconds: null,
    idleSeconds: null,
    stop,
    keepBytes: 1_000_000,
  })
  const containers = async (role: string): Promise<string[]> =>
    (await lab.docker(['ps', '-aq', '--filter', `label=stackquay.role=${role}`])).split('\n').filter(Boolean)

  async function until(holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    while (!(await holds())) {
      assert.ok(performance.now() < deadline, 'it did not come')
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
  }

  /** A workload's container, as the engine makes one. */
  async function workload(name: string, script: string): Promise<string> {
    const ref = { project: 'lab', workload: name }
    const image = lab.image('debian')
    const description = describeWorkload(
      {
        fingerprint: 'f',
        title: name,
        stop,
        dependsOn: [],
        health: { kind: 'none' },
        ports: [],
        requires: [],
      } as never,
      image,
      null,
    )
    const labels = {
      'stackquay.instance': daemon.instance,
      'stackquay.project': 'lab',
      'stackquay.role': 'workload',
      'stackquay.workload': name,
      'stackquay.description': JSON.stringify(description),
    }
    const options = Object.entries(labels).flatMap(([label, value]) => ['--label', `${label}=${value}`])
    return lab.docker([
      'run',
      '-d',
      '--init',
      '--name',
      containerName(daemon, ref),
      ...options,
      image,
      '/bin/sh',
      '-c',
      script,
    ])
  }

  async function exec(script: string, beside: string | undefined, io: Partial<ExecIo> = {}, signal = never) {
    const printed = { stdout: '', stderr: '' }
    const exit = await commands.exec(
      { ...program(script), project: 'lab', stop, ...(beside === undefined ? {} : { beside }) },
      {
        stdin: null,
        output: async (stream, bytes) => {
          printed[stream] += bytes
        },
        ...io,
      },
      { ...context, signal },
    )
    return { ...printed, code: exit.code, signal: exit.signal }
  }

  test('a shim that is killed leaves a container, which the next look and the next start of the engine remove', async () => {
    for (const [id, look] of [
      [
        'run_found',
        async () => assert.equal((await commands.find({ project: 'lab', id: 'run_found' }))?.cause, 'lost'),
      ],
      ['run_swept', async () => createDockerCommands(daemon, closing.signal).close()],
    ] as const) {
      await commands.start(spec(id, 'sleep 600'), context)
      const shim = (await readShimState(daemon.home, { project: 'lab', id }))?.holder.pid ?? 0
      process.kill(shim, 'SIGKILL')
      await until(async () => daemon.table.find(shim) === null || daemon.table.find(shim)?.zombie === true)
      assert.equal((await containers('command')).length, 1)
      await look()
      assert.deepEqual(await containers('command'), [])
      await commands.end({ project: 'lab', id }, never)
      await commands.remove({ project: 'lab', id })
    }
    assert.deepEqual(await commands.projects(), [])
  })

  test('an unmanaged container of the same name is left alone', async () => {
    const name = `stackquay-${daemon.instance}.lab.command.run_foreign`
    const id = await lab.docker(['run', '-d', '--name', name, lab.image('debian'), '/bin/sleep', '600'])
    await assert.rejects(commands.start(spec('run_foreign', 'true'), context), EngineError)
    await commands.end({ project: 'lab', id: 'run_foreign' }, never)
    assert.equal(await lab.docker(['inspect', '-f', '{{.State.Running}}', id]), 'true')
    await lab.docker(['rm', '-f', id])
  })

  test('a program that uses more memory than it may is said to have been killed for it', async () => {
    const hungry = spec('run_hungry', '')
    const limits = { cpus: null, memoryBytes: 32 * 1024 * 1024, pids: null }
    const container = containerOf(lab.image('debian'), { limits })
    // Docker watches a container's memory only a moment after its program has begun.
    const argv = ['/bin/sh', '-c', 'sleep 0.3; exec tail /dev/zero'] as const
    await commands.start({ ...hungry, argv, container }, context)
    await until(async () => (await commands.find(hungry.ref))?.state === 'ended')
    const { exit } = (await commands.find(hungry.ref)) ?? {}
    assert.deepEqual([exit?.signal, exit?.outOfMemory], ['SIGKILL', true])
    await commands.remove(hungry.ref)
  })

  test('exec runs in the container of its neighbour while that runs, and in one of its own otherwise', async () => {
    const id = await workload('web', 'echo here > /tmp/mark; chmod a+r /tmp/mark; sleep 600')
    await until(async () => (await lab.try(['exec', id, 'test', '-e', '/tmp/mark'])).code === 0)
    const look = 'cat /tmp/mark; id -u; echo $WORD; echo bad >&2; exit 3'
    assert.deepEqual(await exec(look, 'web'), {
      stdout: 'here\n48211\ngiven\n',
      stderr: 'bad\n',
      code: 3,
      signal: null,
    })
    assert.deepEqual(await containers('exec'), [])
    assert.equal((await exec('cat /tmp/mark', 'nobody')).code, 1, 'without a neighbour it is alone')
    await lab.docker(['kill', id])
    assert.equal((await exec('cat /tmp/mark', 'web')).code, 1, 'a neighbour that ended is none')
    await lab.docker(['rm', id])
    await workload('web', 'sleep 600')
    assert.equal((await exec('echo new', 'web')).stdout, 'new\n', 'a container that was replaced is found again')
    assert.deepEqual(await containers('exec'), [])
  })

  test('exec in a neighbour passes input to its end, and says when a program or folder is missing', async () => {
    await workload('copier', 'sleep 600')
    async function* stdin() {
      for (let n = 0; n < 64; n++) yield Buffer.alloc(64 * 1024, n)
    }
    let size = 0
    const io: Partial<ExecIo> = {
      stdin: stdin(),
      output: async (_stream, bytes) => {
        size += bytes.length
      },
    }
    assert.equal((await exec('exec cat', 'copier', io)).code, 0)
    assert.equal(size, 64 * 64 * 1024)
    const silent = { stdin: null, output: async () => assert.fail('Docker speaks in its place') }
    const run = (changes: object) =>
      commands.exec({ ...program('true'), project: 'lab', stop, beside: 'copier', ...changes }, silent, context)
    await assert.rejects(run({ argv: ['/nowhere/program'] }), { code: 'program_not_found' })
    await assert.rejects(run({ cwd: '/nowhere' }), { code: 'io_failed' })
  })

  test('exec in a neighbour is ended with its whole family, by an abort and by signals', async () => {
    const id = await workload('host', 'sleep 600')
    const processes = async () =>
      (await lab.docker(['top', id, '-eo', 'pid,args'])).split('\n').filter((line) => /sleep 77/.test(line))
    const abort = new AbortController()
    const stubborn = "trap '' TERM; sleep 771 & setsid sleep 772 & echo up; wait; wait"
    const ended = exec(stubborn, 'host', { output: async () => abort.abort() }, abort.signal)
    await assert.rejects(ended, { code: 'aborted' })
    await until(async () => (await processes()).length === 0)
    let interrupt = () => {}
    const interrupted = await exec('echo up; exec sleep 773', 'host', {
      started: (process) => {
        assert.ok(process.pid > 0)
        interrupt = () => process.signal('SIGINT')
      },
      output: async () => interrupt(),
    })
    assert.deepEqual([interrupted.code, interrupted.signal], [null, 'SIGINT'])
    assert.deepEqual(await processes(), [])
  })

  test('a program that leaves something behind which holds its output open is not waited for', async () => {
    await workload('keeper', 'sleep 600')
    const exit = await exec('sleep 600 & echo done', 'keeper')
    assert.deepEqual([exit.stdout, exit.code], ['done\n', 0])
  })
})
