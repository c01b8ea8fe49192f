import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type OutgoingHttpHeaders, request as send } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ServiceInput, serviceTypeOf, type WorkloadSpec } from '@stackquay/catalog'
import { revealValue } from '@stackquay/engine-api'
import { assembleOpenSearch, openSearchRelease } from '@stackquay/testkit/opensearch-program'
import { programFile } from '../src/folders.ts'
import { patience } from '../src/services/opensearch/auth-proxy/patience.ts'
import { serviceInput } from './support/inputs.ts'
import { freePort, type Machine, type Running, runJob, start } from './support/run-workload.ts'

const kind = serviceTypeOf('opensearch')!
const hostile = `it's "quoted" $HOME \\ %41 #@/ : é`
const uid = process.getuid?.() === 0 ? nobody() : undefined

describe('The OpenSearch service', () => {
  test('is an auth proxy on the port that clients use, with the server behind it on loopback', () => {
    const bind = (port: string) => (port === 'http' ? '0.0.0.0' : '127.0.0.1')
    const spec = kind.toWorkload(serviceInput(kind, { exposePort: true }, { bind }))
    assert.equal(spec.name, 'opensearch')
    assert.deepEqual(spec.run.argv.slice(1), [
      programFile('search-auth-proxy'),
      ...['--host', '0.0.0.0', '--port', '30000', '--user', 'admin'],
      ...['--server-port', '30001', '--transport-port', '30002'],
      ...['--program', '/tools/bin/program', '--data', '{data:opensearch}'],
    ])
    assert.deepEqual(spec.env, { AUTH_PROXY_PASSWORD: [{ secret: 'password', version: 1 }] })
    assert.deepEqual(spec.data, [{ name: 'opensearch' }])
    assert.deepEqual(spec.ports, [
      { name: 'http', port: 30000, hostPort: 30000, bind: '0.0.0.0' },
      { name: 'server', port: 30001, hostPort: 30001, bind: '127.0.0.1' },
      { name: 'transport', port: 30002, hostPort: 30002, bind: '127.0.0.1' },
    ])
    assert.deepEqual(
      kind.ports.filter(({ published }) => published).map(({ name, port }) => [name, port]),
      [['http', 9200]],
    )
  })

  test('has a heap of 512 megabytes unless it is told otherwise', () => {
    const options = (said: object) => kind.toWorkload(serviceInput(kind, { ...said })).setup[0]!.argv[5]!.split('\n')
    assert.deepEqual(options({}).slice(0, 2), ['-Xms512m', '-Xmx512m'])
    assert.deepEqual(options({ heap: 2048 }).slice(0, 2), ['-Xms2048m', '-Xmx2048m'])
    for (const heap of [0, 255, 1.5, '512', 65_537])
      assert.equal(kind.settings.patch.safeParse({ heap }).success, false, String(heap))
  })

  test('gives Java the agent that OpenSearch has from 3 on, and not to the versions before', () => {
    const options = (version: string) =>
      kind.toWorkload(serviceInput(kind, {}, { toolchain: { version, program: '/o/bin/opensearch', directory: '/o' } }))
        .setup[0]!.argv[5]!
    assert.match(options('3.0.0'), /^21-:-javaagent:agent\/opensearch-agent\.jar$/m)
    assert.doesNotMatch(options('2.19.3'), /agent/)
    assert.match(options('2.19.3'), /^-Djava\.io\.tmpdir=\$\{OPENSEARCH_TMPDIR\}$/m)
  })

  test('tells runtimes where it is, in one piece and in parts', () => {
    const password = [{ secret: 'password', version: 1 }]
    const url = ['http://admin:', { secret: 'password', version: 1, encode: 'url' }, '@127.0.0.1:30000']
    const input = serviceInput(kind)
    assert.deepEqual(kind.variables(input), {
      OPENSEARCH_URL: url,
      OPENSEARCH_HOST: '127.0.0.1',
      OPENSEARCH_PORT: '30000',
      OPENSEARCH_USERNAME: 'admin',
      OPENSEARCH_PASSWORD: password,
    })
    assert.deepEqual(Object.keys(kind.variables(input)), kind.injects)
    assert.deepEqual(kind.credentials?.(input), { username: 'admin', password, url })
  })

  test('recognises its version as the program prints it', () => {
    const version = (text: string) => new RegExp(kind.toolchain!.versionPattern, 'm').exec(text)?.[1]
    const build = 'Build: tar/a90f864b8524bc75570a8461ccb569d2a4bfed42/2025-07-21T22:34:18.003652598Z, JVM: 21.0.7'
    assert.equal(version(`Version: 2.19.3, ${build}\n`), '2.19.3')
    assert.equal(version(`warning: something\nVersion: 3.8.0, ${build}\n`), '3.8.0')
    assert.equal(version('opensearch 1.0.0\n'), undefined)
    for (const { version } of kind.releases) assert.equal(kind.lineOf(`${version}.3`), version)
  })

  test('lets data go to a later line of its major and of the next, no further, and never back', () => {
    assert.equal(kind.dataBlocker('2.19', '2.19'), null)
    assert.equal(kind.dataBlocker('2.9', '2.19'), null)
    assert.equal(kind.dataBlocker('2.19', '3.8'), null)
    assert.match(kind.dataBlocker('2.19', '2.9')!, /^OpenSearch 2\.9 cannot open data that 2\.19 wrote/)
    assert.match(kind.dataBlocker('3.0', '2.19')!, /choose 3\.0 again/)
    assert.match(kind.dataBlocker('1.3', '3.8')!, /opens data of 2 at the earliest.*choose a version 2 first/)
  })
})

/**
 * Answers like OpenSearch on its own port where the auth proxy asks, and tells of everything else what it received. It listens
 * where the auth proxy told it, and is done with "opening its indexes" after a moment.
 */
const standIn = `#!${process.execPath}
const { createServer } = require('node:http')
const settings = Object.fromEntries(process.argv.slice(2).map((word) => word.replace(/^-E/, '').split('=')))
if (process.env.STAND_IN_ENDS) { console.error('java.lang.OutOfMemoryError'); process.exit(3) }
const open = Date.now() + 500
let hungUp = 0
createServer(async (request, response) => {
  const json = (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  if (request.url.startsWith('/_nodes/_local')) return json({ nodes: { a: { process: { id: process.pid } } } })
  if (request.url.startsWith('/_cluster/health')) return json({ status: Date.now() < open ? 'red' : 'yellow' })
  if (request.url === '/told') return json({ settings, password: process.env.AUTH_PROXY_PASSWORD ?? null, conf: process.env.OPENSEARCH_PATH_CONF })
  if (request.url === '/hung-up') return json(hungUp)
  if (request.url === '/slow') return response.on('close', () => hungUp++).write('one ')
  if (request.url === '/full') return response.writeHead(413, { connection: 'close' }).end('too large')
  if (request.url === '/echo-stream') { response.writeHead(200); return request.pipe(response) }
  let body = ''
  for await (const chunk of request) body += chunk
  response.writeHead(request.method === 'HEAD' ? 404 : 200, { 'x-elastic-product': 'none', connection: 'x-own', 'x-own': 'secret' })
  response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }))
}).listen(Number(settings['http.port']), settings['network.host'])
process.on('SIGTERM', () => process.exit(143))
// A body that is broken off.
process.on('unhandledRejection', () => {})
`

describe('The auth proxy, with a stand-in for OpenSearch behind it', () => {
  let place: Place
  let program: string

  before(async () => {
    place = await makePlace()
    program = join(place.folder, 'bin', 'opensearch')
    mkdirSync(dirname(program))
    chmodSync(dirname(program), 0o755)
    writeFileSync(program, standIn, { mode: 0o755 })
    chmodSync(program, 0o755)
    place.input = { ...place.input, toolchain: { version: '3.8.0', program, directory: dirname(program) } }
  })

  after(() => rmSync(place.folder, { recursive: true, force: true }))

  test('says 503 to everybody until the indexes are open, then 401 to those without the password', async () => {
    await withServer(place, async ({ child }, answers) => {
      assert.deepEqual([...new Set(answers)], [503])
      const none = await ask(place, 'GET', '/', { headers: {} })
      assert.equal(none.status, 401)
      assert.equal(none.headers['www-authenticate'], 'Basic realm="OpenSearch", charset="UTF-8"')
      assert.equal(JSON.parse(none.body).error.type, 'security_exception')
      for (const password of ['wrong', '', `${hostile} `, hostile.slice(0, -1)])
        assert.equal((await ask(place, 'GET', '/', { password })).status, 401, password)
      assert.equal((await ask(place, 'GET', '/', { user: 'root' })).status, 401)
      assert.equal((await ask(place, 'GET', '/', { headers: { authorization: 'Bearer x' } })).status, 401)
      assert.equal((await ask(place, 'GET', '/')).status, 200)
      const { stdout } = spawnSync('ps', ['-ww', '-o', 'args=', '-p', String(child.pid)], { encoding: 'utf8' })
      assert.match(stdout, /search-auth-proxy/)
      assert.ok(!stdout.includes('quoted'))
    })
  })

  test('tells the server where to listen and to write, and does not tell it the password', async () => {
    await withServer(place, async () => {
      const { hostPort } = place.input
      assert.deepEqual(JSON.parse((await ask(place, 'GET', '/told')).body), {
        settings: {
          'network.host': '127.0.0.1',
          'http.port': String(hostPort('server')),
          'transport.port': String(hostPort('transport')),
          'path.data': join(place.data, 'nodes'),
          'path.logs': join(place.data, 'logs'),
        },
        password: null,
        conf: join(place.data, 'config'),
      })
      for (const name of ['tmp', 'logs']) assert.equal(statSync(join(place.data, name)).mode & 0o777, 0o700)
    })
  })

  test('switches the security plugin off where there is one', async () => {
    const plugin = join(place.folder, 'plugins', 'opensearch-security')
    mkdirSync(plugin, { recursive: true })
    try {
      await withServer(place, async () => {
        const told = JSON.parse((await ask(place, 'GET', '/told')).body)
        assert.equal(told.settings['plugins.security.disabled'], 'true')
      })
    } finally {
      rmSync(dirname(plugin), { recursive: true })
    }
  })

  test('passes requests and answers on as they are, without what is between neighbours', async () => {
    await withServer(place, async () => {
      const path = '/notes/_search?q=%C3%A9&x=a%2Fb'
      const body = '{"query":{"match_all":{}}}'
      for (const [method, length] of [
        ['GET', { 'content-length': body.length }],
        ['GET', { 'transfer-encoding': 'chunked' }],
        ['POST', {}],
        ['DELETE', { 'content-length': body.length }],
      ] as const) {
        const answer = await ask(place, method, path, { body, headers: { ...entry(place), ...length, 'x-mine': '1' } })
        const got = JSON.parse(answer.body)
        assert.deepEqual([got.method, got.url, got.body], [method, path, body])
        assert.equal(got.headers['x-mine'], '1')
        assert.equal(got.headers.authorization, undefined)
        assert.equal(got.headers.host, `127.0.0.1:${place.input.hostPort('http')}`)
        assert.equal(answer.headers['x-elastic-product'], 'none')
        assert.equal(answer.headers['x-own'], undefined)
      }
      const head = await ask(place, 'HEAD', '/notes')
      assert.deepEqual([head.status, head.body], [404, ''])
      const expecting = { ...entry(place), expect: '100-continue', 'content-length': body.length }
      assert.equal(JSON.parse((await ask(place, 'PUT', '/notes', { body, headers: expecting })).body).body, body)
    })
  })

  test('lets nobody send a body before the password is known', async () => {
    await withServer(place, async () => {
      const port = place.input.hostPort('http')
      const lines = ['PUT /notes HTTP/1.1', 'Host: x', 'Expect: 100-continue', 'Content-Length: 9', '', '']
      const answer = await new Promise<string>((resolve, reject) => {
        let text = ''
        const socket = connect(port, '127.0.0.1', () => socket.write(lines.join('\r\n')))
        socket.on('data', (chunk) => {
          text += chunk
        })
        socket.on('error', reject).on('end', () => resolve(text))
      })
      assert.match(answer, /^HTTP\/1\.1 401 /)
    })
  })

  test('lets no client hide a second request in the body of the first', async () => {
    await withServer(place, async () => {
      const hidden = 'DELETE /notes HTTP/1.1\r\nHost: x\r\n\r\n'
      const chunked = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`
      for (const [framing, body] of [
        [['Connection: close, Content-Length', `Content-Length: ${hidden.length}`], hidden],
        [['Connection: close, Transfer-Encoding', 'Transfer-Encoding: chunked'], chunked],
      ] as const) {
        const lines = [
          'GET /notes HTTP/1.1',
          'Host: x',
          `Authorization: ${entry(place).authorization}`,
          ...framing,
          '',
          '',
        ]
        const answer = await new Promise<string>((resolve, reject) => {
          let text = ''
          const socket = connect(place.input.hostPort('http'), '127.0.0.1', () =>
            socket.write(lines.join('\r\n') + body),
          )
          socket.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk
          })
          socket.on('error', reject).on('end', () => resolve(text))
        })
        const got = JSON.parse(/\{.*\}/s.exec(answer)?.[0] ?? '')
        assert.deepEqual([got.method, got.body], ['GET', hidden])
      }
    })
  })

  test('lets nobody hold a connection without a request', () => {
    // Node would set 0, "for ever", beside a request that may take as long as it takes.
    const { headersTimeout, requestTimeout } = createServer(patience)
    assert.deepEqual([headersTimeout, requestTimeout], [60_000, 0])
  })

  test('streams in both directions, passes an early refusal back, and hangs up for a client that has gone', async () => {
    await withServer(place, async () => {
      const block = 'x'.repeat(1 << 20)
      const port = place.input.hostPort('http')
      const echoed = await new Promise<string>((resolve, reject) => {
        const headers = { ...entry(place), 'transfer-encoding': 'chunked' }
        const request = send({ host: '127.0.0.1', port, method: 'POST', path: '/echo-stream', headers }, (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk: string) => {
            // The second half is sent only when the first has come back.
            if (text === '') request.end(block)
            text += chunk
          })
          response.on('end', () => resolve(text))
        })
        request.on('error', reject).write('begin')
      })
      assert.equal(echoed, `begin${block}`)

      assert.equal((await ask(place, 'POST', '/full', { body: 'short' })).status, 413)

      const headers = entry(place)
      await new Promise<void>((resolve, reject) => {
        const request = send({ host: '127.0.0.1', port, path: '/slow', headers }, (response) => {
          response.once('data', () => {
            request.destroy()
            resolve()
          })
          response.on('error', () => {})
        })
        request.on('error', reject).end()
      })
      for (const deadline = Date.now() + 120_000; (await ask(place, 'GET', '/hung-up')).body !== '1'; )
        assert.ok(Date.now() < deadline, 'the server still serves a client that has gone')

      await new Promise<void>((resolve) => {
        const half = { ...entry(place), 'content-length': 100 }
        const request = send({ host: '127.0.0.1', port, method: 'PUT', path: '/half', headers: half })
        request.on('error', () => resolve()).write('half', () => request.destroy(new Error('gone')))
      })
      assert.equal((await ask(place, 'GET', '/')).status, 200)
    })
  })

  test('stops the server with it within its deadline, though a client stays connected', async () => {
    await withServer(place, async (running) => {
      const socket = connect(place.input.hostPort('http'), '127.0.0.1').on('error', () => {})
      assert.deepEqual(await running.stop(), { code: 0, signal: null })
      socket.destroy()
    })
    await assert.rejects(fetch(`http://127.0.0.1:${place.input.hostPort('server')}/`))
  })

  test('stops the server also when the signal reaches the auth proxy alone', async () => {
    await withServer(place, async ({ child }) => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      process.kill(child.pid!, 'SIGTERM')
      assert.equal(await ended, 0)
    })
    await assert.rejects(fetch(`http://127.0.0.1:${place.input.hostPort('server')}/`))
  })

  test('ends with the server when that ends by itself', async () => {
    const spec = kind.toWorkload(place.input)
    const running = await start({ ...spec, env: { ...spec.env, STAND_IN_ENDS: 'yes' } }, place.machine)
    const code = await new Promise((resolve) => running.child.once('close', resolve))
    assert.equal(code, 3)
    assert.match(running.output(), /OutOfMemoryError[\s\S]*OpenSearch ended by itself \(exit code 3\)/)
  })

  test('ends when another program has its port, before it starts a server', async () => {
    const other = createServer().listen(place.input.hostPort('http'), '127.0.0.1')
    try {
      const running = await start(kind.toWorkload(place.input), place.machine)
      const code = await new Promise((resolve) => running.child.once('close', resolve))
      assert.equal(code, 1)
      assert.match(running.output(), /cannot be reached on 127\.0\.0\.1:\d+: .*EADDRINUSE/)
    } finally {
      other.close()
    }
  })

  test('does not take another program on the port of its server for it', async () => {
    let asked = 0
    const other = createServer((request, response) => {
      asked += 1
      const answer = request.url?.startsWith('/_nodes') ? { nodes: { a: { process: { id: 1 } } } } : { status: 'green' }
      response.end(JSON.stringify(answer))
    }).listen(place.input.hostPort('server'), '127.0.0.1')
    // One that waits for the port instead of ending.
    const waiting = join(place.folder, 'bin', 'waiting')
    writeFileSync(waiting, `#!${process.execPath}\nsetInterval(() => {}, 1000)\n`)
    chmodSync(waiting, 0o755)
    const toolchain = { version: '3.8.0', program: waiting, directory: dirname(waiting) }
    const running = await start(kind.toWorkload({ ...place.input, toolchain }), place.machine)
    try {
      for (const deadline = Date.now() + 120_000; asked < 3; await new Promise((resolve) => setTimeout(resolve, 20)))
        assert.ok(Date.now() < deadline, running.output())
      assert.equal((await ask(place, 'GET', '/')).status, 503)
    } finally {
      await running.stop()
      other.close()
      other.closeAllConnections()
    }
  })

  test('does not open without a password', async () => {
    const running = await start(kind.toWorkload(place.input), { ...place.machine, secrets: { password: '' } })
    const code = await new Promise((resolve) => running.child.once('close', resolve))
    assert.equal(code, 2)
  })
})

/** The server, its network module and Lucene are what OpenSearch publishes; see `assembleOpenSearch` for what is not. */
describe('OpenSearch behind the auth proxy', () => {
  let place: Place
  let written = 0

  before(async () => {
    const home = assembleOpenSearch()
    place = await makePlace()
    const program = join(home, 'bin', 'opensearch')
    const printed = spawnSync(program, [...kind.toolchain!.versionArgs], { encoding: 'utf8' }).stdout
    const version = new RegExp(kind.toolchain!.versionPattern, 'm').exec(printed)?.[1] ?? printed
    assert.equal(version, openSearchRelease)
    place.input = { ...place.input, toolchain: { version, program, directory: dirname(program) } }
  })

  after(() => rmSync(place.folder, { recursive: true, force: true }))

  test('writes its configuration once more over itself, for nobody else to read', async () => {
    const [job] = kind.toWorkload(place.input).setup
    for (let round = 0; round < 2; round++) assert.equal((await runJob(job!, place.machine)).code, 0)
    const folder = join(place.data, 'config')
    assert.deepEqual(readdirSync(folder).sort(), ['jvm.options', 'log4j2.properties', 'opensearch.yml'])
    for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
    assert.match(readFileSync(join(folder, 'opensearch.yml'), 'utf8'), /^discovery\.type: single-node$/m)
  })

  test('takes documents through the URL it gives to programs, and is killed in the middle of writing', async () => {
    await withServer(place, async (running, answers) => {
      assert.ok(answers.every((status) => status === 503))
      assert.equal((await ask(place, 'PUT', '/notes/_doc/a', { password: 'wrong', body: '{}' })).status, 401)
      const put = await ask(place, 'PUT', '/notes/_doc/a?refresh=true', { body: '{"text":"a quick fox"}' })
      assert.equal(put.status, 201, put.body)
      const found = await ask(place, 'GET', '/notes/_search', { body: '{"query":{"match":{"text":"fox"}}}' })
      assert.equal(JSON.parse(found.body).hits.hits[0]._id, 'a')

      const nodes = JSON.parse((await ask(place, 'GET', '/_nodes/_local/http,transport')).body).nodes
      const [node] = Object.values(nodes) as { http: Bound; transport: Bound }[]
      const { hostPort } = place.input
      assert.deepEqual(node!.http.bound_address, [`127.0.0.1:${hostPort('server')}`])
      assert.deepEqual(node!.transport.bound_address, [`127.0.0.1:${hostPort('transport')}`])

      let killed: Promise<unknown> | null = null
      for (;;) {
        const lines = Array.from({ length: 20 }, (_, index) => `{"create":{"_id":"${written + index}"}}\n{"n":1}\n`)
        const answer = await ask(place, 'POST', '/flood/_bulk', { body: lines.join('') }).catch(() => null)
        if (answer?.status !== 200) break
        assert.equal(JSON.parse(answer.body).errors, false, answer.body)
        written += lines.length
        if (written >= 200) killed ??= running.stop('SIGKILL')
      }
      assert.deepEqual(await killed, { code: null, signal: 'SIGKILL' })
    })
  })

  test('has every document it acknowledged, and stops within its deadline', async () => {
    await withServer(place, async (running) => {
      assert.ok(written >= 200)
      assert.ok((await count('flood')) >= written, `${written} were acknowledged`)
      assert.equal(await count('notes'), 1)
      const after = await ask(place, 'PUT', '/notes/_doc/b', { body: '{"text":"before the stop"}' })
      assert.equal(after.status, 201, after.body)
      assert.deepEqual(await running.stop(), { code: 0, signal: null })
    })
  })

  test('takes a new password after a restart and refuses the one before, with all its data', async () => {
    place.machine = { ...place.machine, secrets: { password: 'rotated' } }
    await withServer(place, async () => {
      assert.equal(await count('notes'), 2)
      assert.equal((await ask(place, 'GET', '/', { password: hostile })).status, 401)
    })
    const names = readdirSync(place.data).sort()
    assert.deepEqual(names, ['config', 'logs', 'nodes', 'tmp'])
  })

  async function count(index: string): Promise<number> {
    await ask(place, 'POST', `/${index}/_refresh`)
    return JSON.parse((await ask(place, 'GET', `/${index}/_count`)).body).count
  }
})

interface Bound {
  readonly bound_address: readonly string[]
}

interface Place {
  readonly folder: string
  readonly data: string
  machine: Machine
  input: ServiceInput
}

async function makePlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-opensearch-'))
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  if (uid !== undefined) chownSync(data, uid, uid)
  const ports: Record<string, number> = {}
  for (const { name } of kind.ports) ports[name] = await freePort()
  const machine = { data: { opensearch: data }, secrets: { password: hostile }, ...(uid ? { uid } : {}) }
  return { folder, data, machine, input: serviceInput(kind, { heap: 256 }, { hostPort: (name) => ports[name]! }) }
}

/** Also hands over what the health check was answered before it was content. */
async function withServer(place: Place, act: (running: Running, answers: number[]) => Promise<unknown>): Promise<void> {
  // Compiled once and not twice, it starts in half the time.
  const spec: WorkloadSpec = kind.toWorkload(place.input)
  const running = await start(
    { ...spec, env: { ...spec.env, JDK_JAVA_OPTIONS: '-XX:TieredStopAtLevel=1' } },
    place.machine,
  )
  const answers: number[] = []
  try {
    assert.ok(spec.health.kind === 'http')
    const { path, status } = spec.health
    for (const deadline = Date.now() + 600_000; ; ) {
      const answer = await ask(place, 'GET', path, { headers: {} }).catch(() => null)
      if (answer !== null && answer.status >= status[0] && answer.status <= status[1]) break
      if (answer !== null) answers.push(answer.status)
      assert.ok(running.child.exitCode === null && Date.now() < deadline, running.output())
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await act(running, answers)
  } finally {
    await running.stop()
  }
}

/** What a client does with the URL that runtimes are given. */
async function ask(
  place: Place,
  method: string,
  path: string,
  said: { body?: string; headers?: OutgoingHttpHeaders; password?: string; user?: string } = {},
): Promise<{ status: number; headers: Record<string, unknown>; body: string }> {
  const secret = async () => place.machine.secrets.password ?? ''
  const url = new URL(await revealValue(kind.variables(place.input).OPENSEARCH_URL!, secret))
  const user = said.user ?? decodeURIComponent(url.username)
  const password = said.password ?? decodeURIComponent(url.password)
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const headers = said.headers ?? { authorization, ...(said.body ? { 'content-type': 'application/json' } : {}) }
  const length =
    said.body && !('transfer-encoding' in headers) ? { 'content-length': Buffer.byteLength(said.body) } : {}
  return new Promise((resolve, reject) => {
    const options = {
      host: url.hostname,
      port: url.port,
      method,
      path,
      headers: { ...length, ...headers },
      agent: false,
    }
    const request = send(options, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
    })
    request.on('error', reject).end(said.body)
  })
}

function entry({ machine }: Place): { readonly authorization: string } {
  return { authorization: `Basic ${Buffer.from(`admin:${machine.secrets.password}`).toString('base64')}` }
}

function nobody(): number {
  return Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout.trim())
}
