import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createProxyControl } from '@stackquay/proxy/control'
import { type Service, startService, until } from './support/service.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'

/** Answers bodies with their digest and its own pid, some of them late; ends politely, as programs should. */
const serverProgram = `
const { createHash } = require('crypto')
const { createServer } = require('http')
const server = createServer((request, response) => {
  const hash = createHash('sha256')
  let size = 0
  request.on('data', (chunk) => { hash.update(chunk); size += chunk.length })
  request.on('end', () => {
    const body = JSON.stringify({ pid: process.pid, size, digest: hash.digest('hex') })
    setTimeout(() => response.end(body), request.url === '/late' ? 150 : 0)
  })
}).listen(process.env.PORT, '127.0.0.1')
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`

describe('a project under load', () => {
  let service: Service
  let root: SourceRoot
  before(async () => {
    root = await makeSourceRoot()
    service = await startService({ roots: root.path })
    for (const name of ['first', 'shop']) {
      const path = await root.folder(name, {
        'package.json': JSON.stringify({ name, private: true, scripts: { start: 'node server.js' } }),
        'server.js': serverProgram,
      })
      const created = await service.client.call('createProject', { body: { name, path }, query: { wait: 60 } })
      assert.equal(created.status.state, 'running', service.output())
    }
  })
  after(async () => {
    await service?.close()
    await root?.remove()
  })

  const params = { id: 'shop' }
  const query = { wait: 60 }

  it('loses no request while it is restarted three times, and none waits longer than the restart', {
    timeout: 180_000,
  }, async () => {
    const load = startLoad(service.proxyPort)
    let longest = 0
    try {
      for (let round = 1; round <= 3; round += 1) {
        await load.answersMore(40)
        const began = performance.now()
        const operation = await service.client.call('restartProject', { params, query })
        longest = Math.max(longest, performance.now() - began)
        assert.equal((operation as { state: string }).state, 'succeeded', service.output())
        await load.answersMore(40)
      }
    } finally {
      await load.end()
    }
    assert.deepEqual(load.failures, [])
    assert.equal(load.pids.size, 4)
    // The longest of them began before the restart and was answered after it, so it may have some time of its own.
    assert.ok(load.slowest < longest + 5000, `${load.slowest} ms, and the restart took ${longest} ms`)
  })

  it('loses no request while a change replaces it', { timeout: 120_000 }, async () => {
    const load = startLoad(service.proxyPort)
    try {
      await load.answersMore(40)
      const body = { env: { COLOUR: { value: 'green' } } }
      const changed = await service.client.call('updateProject', { params, query, body })
      assert.equal((changed as { status: { state: string } }).status.state, 'running', service.output())
      await load.answersMore(40)
    } finally {
      await load.end()
    }
    assert.deepEqual(load.failures, [])
    assert.equal(load.pids.size, 2)
  })

  it('loses no request while the service is killed and started again, and neither does another project', {
    timeout: 120_000,
  }, async () => {
    const loads = [startLoad(service.proxyPort), startLoad(service.proxyPort, 'first.localhost')]
    const answersMore = (count: number) => Promise.all(loads.map((load) => load.answersMore(count)))
    try {
      await answersMore(40)
      await service.kill()
      await answersMore(200)
      await service.start()
      await until(
        async () => (await service.client.call('getProject', { params })).status.state === 'running',
        'the project to be known as running',
      )
      await answersMore(200)
    } finally {
      for (const load of loads) await load.end()
    }
    for (const load of loads) {
      assert.deepEqual(load.failures, [])
      assert.equal(load.pids.size, 1)
    }
  })

  it('loses no request while the service is killed in the middle of a restart and started again', {
    timeout: 120_000,
  }, async () => {
    const proxy = createProxyControl(join(service.home, 'proxy'))
    const load = startLoad(service.proxyPort)
    try {
      await load.answersMore(40)
      const restart = service.client.call('restartProject', { params, query }).catch(() => undefined)
      await until(async () => ((await proxy.status())?.held ?? 0) > 0, 'requests to wait')
      await service.kill()
      await restart
      await service.start()
      await load.answersMore(200)
    } finally {
      await load.end()
    }
    assert.deepEqual(load.failures, [])
  })

  it('is answered by its page, and nothing waits, when it is stopped and not started again', {
    timeout: 120_000,
  }, async () => {
    await service.client.call('stopProject', { params, query })
    const answer = await service.get('shop')
    assert.equal(answer.status, 503)
    assert.match(answer.body, /stopped/i)
    await service.client.call('startProject', { params, query })
    assert.equal((await service.get('shop')).status, 200)
  })

  it('that does not come back after a restart is answered by its page, and nothing goes on waiting', {
    timeout: 120_000,
  }, async () => {
    const body = { node: { command: ['node', 'gone.js'] } } as object
    await service.client.call('updateProject', { params, query, body }).catch(() => undefined)
    const began = performance.now()
    const answer = await service.get('shop')
    assert.equal(answer.status, 503)
    assert.ok(performance.now() - began < 20_000)
  })
})

/** Eight clients on connections that stay, each sending the next request as soon as it has an answer. */
function startLoad(port: number, host = 'shop.localhost') {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const failures: string[] = []
  const pids = new Set<number>()
  let answers = 0
  let slowest = 0
  let ended = false

  const client = async (number: number) => {
    for (let turn = number; !ended; turn += 1) {
      const body = turn % 2 === 0 ? null : randomBytes(turn % 3 === 0 ? 70_000 : 900)
      const path = turn % 5 === 0 ? '/late' : '/'
      const began = performance.now()
      try {
        const { status, text } = await send(agent, port, host, path, body)
        if (status !== 200) throw new Error(`${status} ${text.slice(0, 200)}`)
        const answer = JSON.parse(text) as { pid: number; size: number; digest: string }
        const digest = createHash('sha256')
          .update(body ?? '')
          .digest('hex')
        if (answer.size !== (body?.length ?? 0) || answer.digest !== digest) throw new Error(`wrong body: ${text}`)
        pids.add(answer.pid)
        answers += 1
      } catch (error) {
        failures.push(`${body === null ? 'GET' : 'POST'} ${path}: ${(error as Error).message}`)
        // A client that fails at once must not fill the memory of the test.
        if (failures.length > 20) return
      }
      slowest = Math.max(slowest, performance.now() - began)
    }
  }
  const clients = Promise.all(Array.from({ length: 8 }, (_, number) => client(number)))
  return {
    failures,
    pids,
    get slowest() {
      return slowest
    },
    answersMore: async (count: number) => {
      const goal = answers + count
      await until(async () => answers >= goal || failures.length > 20, `${count} more answers`)
    },
    end: async () => {
      ended = true
      await clients
      agent.destroy()
    },
  }
}

function send(agent: Agent, port: number, host: string, path: string, body: Buffer | null) {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly status: number; readonly text: string }>()
  const method = body === null ? 'GET' : 'POST'
  const headers = { host, ...(body === null ? {} : { 'content-length': body.length }) }
  const call = request({ host: '127.0.0.1', port, path, method, agent, headers, timeout: 60_000 }, (answer) => {
    const chunks: Buffer[] = []
    answer.on('data', (chunk: Buffer) => chunks.push(chunk))
    answer.on('error', reject)
    answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }))
  })
  call.on('timeout', () => call.destroy(new Error('no answer within a minute')))
  call.on('error', reject)
  call.end(body ?? undefined)
  return promise
}
