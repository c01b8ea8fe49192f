import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Engine, ExecIo, Job } from '@stackquay/engine-api'
import { searchPath } from '../src/docker/program.ts'
import { DEFAULT_PATH } from '../src/native/path.ts'
import { type DockerHarness, dockerHarness } from './docker-harness.ts'
import { applyAll, contextOf, never, refusal, remove, start, workloadOf } from './docker-workloads.ts'

const PROJECT = 'programs'
const PROXY = 'http://proxy.invalid:3128'

test('of several PATHs the last counts, and without one the usual', () => {
  assert.equal(searchPath(['PATH=/a', 'X=1', 'PATH=/b']), '/b')
  assert.equal(searchPath([]), DEFAULT_PATH)
})

describe('what a program of the Docker engine is and is given', () => {
  let harness: DockerHarness
  let engine: Engine
  let trusted: string
  before(async () => {
    harness = await dockerHarness(PROJECT)
    trusted = join(harness.directory, '..', 'company.pem')
    await writeFile(trusted, 'trusted', { mode: 0o644 })
    Object.assign(harness.options, {
      network: {
        certificates: {
          NODE_EXTRA_CA_CERTS: trusted,
          PIP_CERT: trusted,
          SSL_CERT_FILE: '/nowhere/ca.pem',
          SSL_CERT_DIR: harness.directory,
        },
        registries: { HTTPS_PROXY: PROXY, npm_config_cafile: trusted },
      },
    })
    engine = await harness.open()
  })
  after(() => harness.close())

  const job = (argv: Job['argv'], changes: Partial<Job> = {}): Job => ({
    name: 'one',
    title: 'Job',
    argv,
    cwd: '/',
    container: harness.container(),
    env: {},
    timeoutSeconds: 30,
    inputs: [],
    ...changes,
  })
  const runJob = async (one: Job) => {
    const output: string[] = []
    const ref = { project: PROJECT, workload: 'jobs' }
    await applyAll(engine, { type: 'job', ref, job: one, force: true }, contextOf(output))
    return output.join('')
  }
  const exec = async (argv: Job['argv'], changes: { cwd?: string; beside?: string; env?: Job['env'] } = {}) => {
    const printed: Buffer[] = []
    const io: ExecIo = { stdin: null, output: async (_, bytes) => void printed.push(bytes) }
    const stop = { signal: 'SIGTERM', deadlineSeconds: 1 } as const
    const program = { project: PROJECT, argv, cwd: '/', env: {}, data: [], container: harness.container(), stop }
    await engine.commands.exec({ ...program, ...changes }, io, { signal: never, reveal: async () => '' })
    return Buffer.concat(printed).toString()
  }

  test('a program may be named without its folder, and is looked for in the PATH that it gets', async () => {
    assert.match(await runJob(job(['node', '-p', '"found"'])), /found/)
    assert.equal(await exec(['node', '-p', '"found"']), 'found\n')
    const tools = join(harness.directory, 'tools')
    await mkdir(tools)
    await writeFile(join(tools, 'greet'), '#!/bin/sh\necho hello\n', { mode: 0o755 })
    await writeFile(join(tools, 'plain'), 'no program', { mode: 0o644 })
    const env = { PATH: `${tools}:/usr/bin:/bin` }
    assert.match(await runJob(job(['greet'], { env })), /hello/)
    for (const name of ['greet', 'plain']) {
      const PATH = name === 'plain' ? env.PATH : '/usr/local/bin:/usr/bin:/bin'
      const error = await refusal(runJob(job([name], { env: { PATH } })))
      assert.equal(error.code, 'program_not_found')
      assert.ok(error.message.includes(`"${name}"`) && error.message.includes(PATH), error.message)
    }
    assert.equal((await refusal(runJob(job(['./greet'], { cwd: tools })))).code, 'program_not_found')
  })

  test('beside a workload, too, a name is looked for, and what is not there is said', async () => {
    const neighbour = workloadOf(PROJECT, 'neighbour', harness.shell('sleep 600'))
    await start(engine, neighbour)
    assert.equal(await exec(['node', '-p', '"found"'], { beside: 'neighbour' }), 'found\n')
    assert.equal((await refusal(exec(['nothing-of-that-name'], { beside: 'neighbour' }))).code, 'program_not_found')
    await remove(engine, neighbour)
  })

  test('a working directory that is missing is refused everywhere, and not made', async () => {
    const missing = join(harness.directory, 'missing')
    const file = join(harness.directory, 'file')
    await writeFile(file, '')
    const run = { ...harness.shell('sleep 600'), cwd: missing }
    const one = workloadOf(PROJECT, 'lost', run)
    for (const promise of [
      () => start(engine, one),
      () => runJob(job(['node', '-v'], { cwd: missing })),
      () => exec(['node', '-v'], { cwd: missing }),
      () => exec(['node', '-v'], { cwd: file }),
    ]) {
      const error = await refusal(promise())
      assert.equal(error.code, 'io_failed')
      assert.match(error.message, /^The working directory /)
    }
    await assert.rejects(rm(missing), { code: 'ENOENT' })
    await remove(engine, one)
  })

  test('certificates reach every program with the files that they name, proxies what installs and what people run', async () => {
    const names = 'NODE_EXTRA_CA_CERTS PIP_CERT SSL_CERT_FILE SSL_CERT_DIR HTTPS_PROXY npm_config_cafile'
    const shown = `for name in ${names}; do eval "echo $name=\\$$name"; done; cat ${trusted}; echo; sh -c "echo x >> ${trusted}" 2>/dev/null || echo denied`
    const certificates = `NODE_EXTRA_CA_CERTS=${trusted}\nPIP_CERT=${trusted}\nSSL_CERT_FILE=\nSSL_CERT_DIR=\n`
    const all = `${certificates}HTTPS_PROXY=${PROXY}\nnpm_config_cafile=${trusted}\ntrusted\ndenied\n`
    const none = `${certificates}HTTPS_PROXY=\nnpm_config_cafile=\ntrusted\ndenied\n`
    const argv = ['/bin/sh', '-c', shown] as const
    assert.ok((await runJob(job(argv))).endsWith(all))
    assert.equal(await exec(argv), all)
    const one = workloadOf(PROJECT, 'trusting', harness.shell(`${shown}; echo done; sleep 600`))
    await start(engine, one)
    assert.equal(await exec(argv, { beside: 'trusting' }), all)
    let printed = ''
    for await (const { text } of engine.logs(one.ref, { follow: true }, never)) {
      if (text === 'done') break
      printed += `${text}\n`
    }
    assert.equal(printed, none)
    assert.match(await runJob(job(argv, { env: { HTTPS_PROXY: 'own' } })), /^HTTPS_PROXY=own$/m)
    await remove(engine, one)
  })
})
