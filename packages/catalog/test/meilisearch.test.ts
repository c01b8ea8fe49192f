import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ServiceInput, serviceTypeOf } from '@stackquay/catalog'
import { serviceInput } from './support/inputs.ts'
import { freePort, type Machine, type Running, start } from './support/run-workload.ts'

const kind = serviceTypeOf('meilisearch')!
const hostile = `it's "quoted" $HOME \\ %41 #@/ é`

describe('The Meilisearch service', () => {
  test('says everything in its environment, the key among it, and keeps all it writes in its own directory', () => {
    const spec = kind.toWorkload(serviceInput(kind))
    assert.equal(spec.name, 'meilisearch')
    assert.deepEqual(spec.run, { kind: 'process', argv: ['/tools/bin/program'], cwd: '{data:meilisearch}' })
    assert.deepEqual(spec.data, [{ name: 'meilisearch' }])
    assert.deepEqual(spec.env, {
      MEILI_MASTER_KEY: [{ secret: 'apiKey', version: 1 }],
      MEILI_HTTP_ADDR: '127.0.0.1:30000',
      MEILI_ENV: 'development',
      MEILI_DB_PATH: '{data:meilisearch}/data.ms',
      MEILI_DUMP_DIR: '{data:meilisearch}/dumps',
      MEILI_SNAPSHOT_DIR: '{data:meilisearch}/snapshots',
      MEILI_NO_ANALYTICS: 'true',
      MEILI_UPGRADE_DB: 'true',
      MEILI_EXPERIMENTAL_DUMPLESS_UPGRADE: 'true',
    })
    assert.deepEqual(spec.health, {
      kind: 'http',
      port: 'http',
      path: '/health',
      status: [200, 200],
      timeoutSeconds: 300,
    })
  })

  test('is always published, and listens elsewhere only when it is told to', () => {
    assert.equal(kind.alwaysPublished, true)
    assert.equal(kind.settings.defaults().exposePort, true)
    assert.deepEqual(kind.ports, [{ name: 'http', port: 7700, published: true }])
    const spec = kind.toWorkload(serviceInput(kind, {}, { bind: () => '0.0.0.0' }))
    assert.equal(spec.env.MEILI_HTTP_ADDR, '0.0.0.0:30000')
    assert.deepEqual(spec.ports, [{ name: 'http', port: 30000, hostPort: 30000, bind: '0.0.0.0' }])
  })

  test('tells runtimes where it is and its key', () => {
    const apiKey = [{ secret: 'apiKey', version: 1 }]
    const input = serviceInput(kind)
    assert.deepEqual(kind.variables(input), {
      MEILISEARCH_HOST: 'http://127.0.0.1:30000',
      MEILISEARCH_API_KEY: apiKey,
    })
    assert.deepEqual(Object.keys(kind.variables(input)), kind.injects)
    assert.deepEqual(kind.credentials?.(input), { apiKey, url: 'http://127.0.0.1:30000' })
    // Shorter ones than 16 bytes are refused by the program.
    assert.ok(kind.secrets[0]!.length >= 16)
  })

  test('recognises its version as the program prints it', () => {
    const version = (text: string) => new RegExp(kind.toolchain!.versionPattern, 'm').exec(text)?.[1]
    assert.equal(version('meilisearch 1.56.0\n'), '1.56.0')
    assert.equal(version('meilisearch-http 0.27.2\n'), undefined)
    assert.equal(kind.lineOf('1.9.1'), '1.9')
    for (const { version } of kind.releases) assert.equal(kind.lineOf(`${version}.0`), version)
  })

  test('lets data of 1.12 and later go to a later line, and no other data to another line', () => {
    assert.equal(kind.dataBlocker('1.12', '1.13'), null)
    assert.equal(kind.dataBlocker('1.13', '1.56'), null)
    assert.equal(kind.dataBlocker('1.9', '1.9'), null)
    assert.match(kind.dataBlocker('1.9', '1.10')!, /only open data of 1\.12 and later.*choose 1\.9 again/)
    assert.match(kind.dataBlocker('1.11', '1.56')!, /this is of 1\.11/)
    assert.match(kind.dataBlocker('1.56', '1.9')!, /^Meilisearch 1\.9 cannot open data that 1\.56 wrote/)
  })
})

/**
 * Meilisearch is in no package registry. This takes its place as far as its documentation speaks of the beginning, the
 * settings of the environment, keys and the health check; documents are lines in a file.
 */
const standIn = `#!${process.execPath}
const { appendFileSync, existsSync, mkdirSync, readFileSync } = require('node:fs')
const { createServer } = require('node:http')
if (process.argv[2] === '--version') { console.log('meilisearch 1.56.0'); process.exit(0) }
if (process.argv.length > 2) { console.error('error: unexpected argument'); process.exit(2) }
const { MEILI_MASTER_KEY: key, MEILI_HTTP_ADDR: address, MEILI_DB_PATH: folder, MEILI_NO_ANALYTICS } = process.env
if (Buffer.byteLength(key) < 16 || MEILI_NO_ANALYTICS !== 'true') process.exit(3)
mkdirSync(folder, { recursive: true })
const file = folder + '/documents'
const [host, port] = address.split(':')
createServer(async (request, response) => {
  const answer = (status, body) => response.writeHead(status).end(JSON.stringify(body))
  if (request.url === '/health') return answer(200, { status: 'available' })
  const bearer = Buffer.from(request.headers.authorization ?? '', 'latin1').toString()
  if (bearer === '') return answer(401, { code: 'missing_authorization_header' })
  if (bearer !== 'Bearer ' + key) return answer(403, { code: 'invalid_api_key' })
  if (request.method === 'GET') return answer(200, existsSync(file) ? readFileSync(file, 'utf8').split('\\n').slice(0, -1) : [])
  let body = ''
  for await (const chunk of request) body += chunk
  appendFileSync(file, body + '\\n', { flush: true })
  answer(202, { status: 'enqueued' })
}).listen(Number(port), host)
`

describe('A stand-in for the Meilisearch program', () => {
  let folder: string
  let data: string
  let machine: Machine
  let input: ServiceInput

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'stackquay-meilisearch-'))
    chmodSync(folder, 0o755)
    const program = join(folder, 'meilisearch')
    writeFileSync(program, standIn, { mode: 0o755 })
    data = join(folder, 'data')
    mkdirSync(data, { mode: 0o700 })
    const uid = process.getuid?.() === 0 ? nobody() : undefined
    if (uid !== undefined) chownSync(data, uid, uid)
    machine = { data: { meilisearch: data }, secrets: { apiKey: hostile }, ...(uid ? { uid } : {}) }
    const port = await freePort()
    const printed = spawnSync(program, [...kind.toolchain!.versionArgs], { encoding: 'utf8' }).stdout
    const version = new RegExp(kind.toolchain!.versionPattern).exec(printed)?.[1] ?? ''
    input = serviceInput(kind, {}, { hostPort: () => port, toolchain: { version, program, directory: folder } })
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  test('is healthy, takes the key that runtimes are given, and refuses none and a wrong one', async () => {
    await withServer(async ({ child }) => {
      assert.equal((await ask('POST', 'first')).status, 202)
      assert.deepEqual(await documents(), ['first'])
      assert.equal((await ask('GET', undefined, null)).status, 401)
      assert.equal((await ask('GET', undefined, 'wrong')).status, 403)
      const { stdout } = spawnSync('ps', ['-ww', '-o', 'args=', '-p', String(child.pid)], { encoding: 'utf8' })
      assert.match(stdout, /meilisearch/)
      assert.ok(!stdout.includes('quoted'))
    })
    assert.deepEqual(readdirSync(data), ['data.ms'])
  })

  test('ends with its stop signal, and finds its data after a stop and after a kill', async () => {
    await withServer(async (running) => {
      await ask('POST', 'second')
      assert.deepEqual(await running.stop(), { code: null, signal: 'SIGTERM' })
    })
    await withServer(async (running) => {
      await ask('POST', 'third')
      assert.deepEqual(await running.stop('SIGKILL'), { code: null, signal: 'SIGKILL' })
    })
    await withServer(async () => assert.deepEqual(await documents(), ['first', 'second', 'third']))
  })

  test('takes a new key after a restart and refuses the one before, with all its data', async () => {
    machine = { ...machine, secrets: { apiKey: 'another key of some length' } }
    await withServer(async () => {
      assert.equal((await documents()).length, 3)
      assert.equal((await ask('GET', undefined, hostile)).status, 403)
    })
  })

  async function withServer(act: (running: Running) => Promise<unknown>): Promise<void> {
    const spec = kind.toWorkload(input)
    const running = await start(spec, machine)
    try {
      assert.ok(spec.health.kind === 'http')
      const { path, status } = spec.health
      for (const deadline = Date.now() + 120_000; ; ) {
        const answer = await fetch(`${origin()}${path}`).catch(() => null)
        if (answer !== null && answer.status >= status[0] && answer.status <= status[1]) break
        assert.ok(running.child.exitCode === null && Date.now() < deadline, running.output())
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await act(running)
    } finally {
      await running.stop()
    }
  }

  function ask(method: string, body?: string, key: string | null = machine.secrets.apiKey ?? ''): Promise<Response> {
    const bearer = Buffer.from(`Bearer ${key}`).toString('latin1')
    return fetch(`${origin()}/indexes/notes/documents`, {
      method,
      headers: key === null ? {} : { authorization: bearer },
      ...(body === undefined ? {} : { body }),
    })
  }

  async function documents(): Promise<unknown[]> {
    return (await (await ask('GET')).json()) as unknown[]
  }

  function origin(): string {
    return String(kind.variables(input).MEILISEARCH_HOST)
  }
})

function nobody(): number {
  return Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout.trim())
}
