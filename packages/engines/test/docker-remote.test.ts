import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Engine, ExecIo } from '@stackquay/engine-api'
import { connectDocker } from '../src/docker/client.ts'
import { createDockerEngine, dockerTls } from '../src/docker/index.ts'
import { type DockerHarness, dockerHarness } from './docker-harness.ts'
import { contextOf, never, refusal, remove, start, workloadOf } from './docker-workloads.ts'
import { freePort } from './native-harness.ts'

const PROJECT = 'remote'

test('whether a port is asked over TLS is read as an administrator means it', () => {
  const modes = [{}, { DOCKER_TLS_VERIFY: '' }, { DOCKER_TLS_VERIFY: '0' }, { DOCKER_TLS_VERIFY: '1' }]
  assert.deepEqual(
    modes.map((env) => dockerTls(env).mode),
    ['unset', 'plain', 'plain', 'verify'],
  )
  assert.equal(dockerTls({ DOCKER_CERT_PATH: '/certs' }).folder, '/certs')
})

test('another machine is not asked without encryption, unless a setting says that this is safe', async () => {
  const tls = (mode: 'plain' | 'unset') => ({ mode, folder: '/nowhere' })
  const refused = await refusal((async () => connectDocker('tcp://192.0.2.1:2375', tls('unset')))())
  assert.deepEqual([refused.code, refused.hint.includes('DOCKER_TLS_VERIFY')], ['engine_unavailable', true])
  assert.equal(connectDocker('tcp://192.0.2.1', tls('plain')).isExposed, true)
  for (const host of ['tcp://127.0.0.1:2375', 'tcp://localhost', 'http://[::1]:80'])
    assert.equal(connectDocker(host, tls('unset')).isExposed, false)
  const { modem } = connectDocker('http://127.0.0.1:80', tls('unset')).docker as { modem: { port?: unknown } }
  assert.equal(modem.port, 80)
})

describe('a Docker behind a port with TLS', () => {
  let folder: string
  let harness: DockerHarness
  let engine: Engine
  let host: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stackquay-tls-'))
    for (const side of ['server', 'client', 'stranger']) await mkdir(join(folder, side))
    makeAuthority(join(folder, 'server'))
    issue(folder, 'server', 'subjectAltName=IP:127.0.0.1')
    issue(folder, 'client', 'extendedKeyUsage=clientAuth')
    makeAuthority(join(folder, 'stranger'))
    const port = await freePort()
    host = `tcp://127.0.0.1:${port}`
    const at = (name: string) => join(folder, 'server', name)
    harness = await dockerHarness(PROJECT, {
      args: [
        `--host=${host}`,
        '--tlsverify',
        `--tlscacert=${at('ca.pem')}`,
        `--tlscert=${at('cert.pem')}`,
        `--tlskey=${at('key.pem')}`,
      ],
    })
    const tls = { mode: 'verify' as const, folder: join(folder, 'client') }
    engine = await createDockerEngine({ ...harness.options, host, tls })
  })
  after(async () => {
    await engine?.close()
    await harness?.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('workloads, programs and held commands run there, and folders are said to be those of that machine', async () => {
    const readiness = await engine.probe(never)
    assert.ok(readiness.ready)
    assert.ok(readiness.warnings.some((text) => text.includes('another machine')))
    assert.ok(!readiness.warnings.some((text) => text.includes('without encryption')))

    const port = await freePort()
    const serve = harness.script("require('http').createServer((_, answer) => answer.end('ok')).listen(8080)")
    const one = workloadOf(PROJECT, 'served', serve, {
      ports: [{ name: 'http', port: 8080, hostPort: port, bind: '127.0.0.1' }],
      health: { kind: 'http', port: 'http', path: '/', status: [200, 299], timeoutSeconds: 30 },
    })
    await start(engine, one)
    assert.deepEqual(await engine.address(one.ref, 'http'), { host: '127.0.0.1', port })

    const program = { argv: ['/bin/cat'] as const, cwd: '/', env: {}, data: [], container: harness.container() }
    const stop = { signal: 'SIGTERM', deadlineSeconds: 1 } as const
    const text = 'byte for byte '.repeat(100_000)
    for (const beside of [{ beside: 'served' }, {}]) {
      const parts: Buffer[] = []
      const io: ExecIo = {
        stdin: (async function* () {
          yield Buffer.from(text)
        })(),
        output: async (_, bytes) => void parts.push(bytes),
      }
      const exit = await engine.commands.exec({ ...program, ...beside, project: PROJECT, stop }, io, contextOf())
      assert.equal(exit.code, 0)
      assert.ok(Buffer.concat(parts).toString() === text)
    }

    const ref = { project: PROJECT, id: 'run_1' }
    const echo = ['/bin/echo', 'held'] as const
    const limits = { terminal: null, timeoutSeconds: null, idleSeconds: null, keepBytes: 100_000 }
    await engine.commands.start({ ...program, ...limits, argv: echo, ref, stop }, contextOf())
    let printed = ''
    for await (const chunks of engine.commands.read(ref, { after: 0, follow: true }, never))
      for (const { bytes } of chunks) printed += bytes
    assert.equal(printed, 'held\n')
    await engine.commands.remove(ref)
    await remove(engine, one)
  })

  test('files that are missing, are something else, or do not belong together are named', async () => {
    const broken = join(folder, 'broken')
    await mkdir(broken)
    const said = async () =>
      (await refusal((async () => connectDocker(host, { mode: 'verify', folder: broken }))())).message
    assert.match(await said(), /broken\/ca\.pem cannot be read/)
    execFileSync('cp', ['-r', `${join(folder, 'client')}/.`, broken])
    await writeFile(join(broken, 'cert.pem'), 'no certificate')
    assert.match(await said(), /broken\/cert\.pem is not what its name says/)
    execFileSync('cp', [join(folder, 'server', 'cert.pem'), broken])
    assert.match(await said(), /do not belong together/)
  })

  test('a Docker whose certificate another authority made is not trusted, and the hint says where to look', async () => {
    const strange = join(folder, 'strange')
    execFileSync('cp', ['-r', join(folder, 'client'), strange])
    execFileSync('cp', [join(folder, 'stranger', 'ca.pem'), strange])
    const home = join(folder, 'home')
    const other = await createDockerEngine({ home, host, tls: { mode: 'verify', folder: strange } })
    const error = await refusal(other.observe(PROJECT, never))
    assert.deepEqual([error.code, error.hint.includes('DOCKER_CERT_PATH')], ['engine_unavailable', true])
    const readiness = await other.probe(never)
    assert.ok(!readiness.ready && readiness.hint.includes('DOCKER_CERT_PATH'))
    await other.close()
  })
})

function openssl(cwd: string, ...args: readonly string[]): void {
  execFileSync('openssl', args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] })
}

function makeAuthority(folder: string): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl(folder, 'req', '-x509', ...key, '-keyout', 'ca-key.pem', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=lab')
}

/** A certificate of the server's authority, in the folder of that name. */
function issue(root: string, name: string, extension: string): void {
  const folder = join(root, name)
  const authority = join(root, 'server')
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl(folder, 'req', ...key, '-keyout', 'key.pem', '-out', 'asked.pem', '-subj', `/CN=${name}`)
  writeFileSync(join(folder, 'extension'), extension)
  const by = ['-CA', join(authority, 'ca.pem'), '-CAkey', join(authority, 'ca-key.pem'), '-CAcreateserial']
  openssl(folder, 'x509', '-req', '-in', 'asked.pem', ...by, '-out', 'cert.pem', '-days', '2', '-extfile', 'extension')
  if (name !== 'server') execFileSync('cp', [join(authority, 'ca.pem'), folder])
}
