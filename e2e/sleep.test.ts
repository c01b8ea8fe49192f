import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createProxyControl } from '@stackquay/proxy/control'
import type { Browser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertLooks, openPage } from './support/page.ts'
import { type Service, startService, until } from './support/service.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'

/** Tells when it was started, takes bodies, and opens tunnels that send back what they get. */
const server = `
const began = Date.now()
const server = require('node:http').createServer(async (request, answer) => {
  let size = 0
  for await (const chunk of request) size += chunk.length
  answer.end(JSON.stringify({ began, size }))
})
server.on('upgrade', (request, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')
  socket.on('data', (bytes) => socket.write(bytes)).on('error', () => socket.destroy())
})
server.listen(process.env.PORT, process.env.HOST)
`

describe('projects that sleep', () => {
  let browser: Browser
  let service: Service
  let root: SourceRoot
  let page: Page
  const params = { id: 'shop' }
  const query = { wait: 60 }
  before(async () => {
    root = await makeSourceRoot()
    service = await startService({ roots: root.path })
    const path = await root.folder('shop', {
      'package.json': JSON.stringify({ name: 'shop', scripts: { start: 'node server.js' } }),
      'server.js': server,
    })
    const made = await service.client.call('createProject', { body: { name: 'Shop', path }, query })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
    await root?.remove()
  })

  const state = async () => (await service.client.call('getProject', { params })).status.state
  const fallAsleep = async () => {
    const { state: ended, error } = await service.client.call('sleepProject', { params, query })
    assert.equal(ended, 'succeeded', JSON.stringify(error))
    assert.equal(await state(), 'sleeping')
  }
  /** Milliseconds that a start of a stopped project takes by itself. */
  const ownStart = async () => {
    await service.client.call('stopProject', { params, query })
    const began = performance.now()
    await service.client.call('startProject', { params, query })
    return performance.now() - began
  }

  it('wake for 50 requests at once, lose none of them, and take no 3 s longer than a start', {
    timeout: 90_000,
  }, async (t) => {
    const start = await ownStart()
    await fallAsleep()
    const began = performance.now()
    const body = 'x'.repeat(20_000)
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        service.get('shop', `/${index}`, index % 2 === 0 ? {} : { method: 'POST', body }),
      ),
    )
    const took = performance.now() - began
    t.diagnostic(
      `a start takes ${Math.round(start)} ms; 50 requests to the project asleep were answered after ${Math.round(took)} ms`,
    )
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]), service.output())
    assert.deepEqual(
      answers.map((answer) => JSON.parse(answer.body).size),
      Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? 0 : 20_000)),
    )
    assert.equal(new Set(answers.map((answer) => JSON.parse(answer.body).began)).size, 1)
    assert.ok(took < start + 3_000, `${took} ms, and a start takes ${start} ms`)
    const operations = await service.client.call('listOperations', { query: { project: 'shop' } })
    assert.deepEqual(
      operations.items.slice(0, 2).map(({ kind }) => kind),
      ['wake', 'sleep'],
    )
    assert.equal(operations.items[0]?.actor, 'system')
    assert.equal(await state(), 'running')
  })

  it('wake for a WebSocket', { timeout: 60_000 }, async () => {
    await fallAsleep()
    const socket = connect(service.proxyPort, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: shop.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
      if (text.endsWith('\r\n\r\n')) socket.write('hello')
    })
    await until(async () => text.endsWith('hello'), 'the tunnel to answer', 30_000)
    assert.match(text, /^HTTP\/1\.1 101 /)
    // Nothing is stopped under a tunnel that carries something; put to sleep by a person it ends.
    await fallAsleep()
    await until(async () => socket.closed, 'the tunnel to end', 10_000)
  })

  it('wake for who came while the service was down, and for nobody who is not let in', {
    timeout: 90_000,
  }, async () => {
    if ((await state()) !== 'sleeping') await fallAsleep()
    const rules = { basicAuth: { username: 'ada', password: 'let me in, please' } }
    await service.client.call('putProxyRules', { params, body: rules } as never)
    assert.equal((await service.get('shop')).status, 401)
    await delay(700)
    assert.equal(await state(), 'sleeping')
    await service.client.call('putProxyRules', { params, body: {} } as never)

    await service.kill()
    const answer = service.get('shop')
    const proxy = createProxyControl(join(service.home, 'proxy'))
    await until(async () => (await proxy.status())?.held === 1, 'the request to wait')
    await service.start()
    assert.equal((await answer).status, 200, service.output())
    // Killed while it wakes: the next one goes on, and the request is answered all the same.
    await fallAsleep()
    const again = service.get('shop')
    await until(async () => (await state()) !== 'sleeping', 'the wake to begin', 20_000)
    await service.kill()
    await service.start()
    assert.equal((await again).status, 200, service.output())
    await until(async () => (await state()) === 'running', 'the project to run')
  })

  it('say so when they cannot be woken, instead of keeping requests waiting', { timeout: 60_000 }, async () => {
    await fallAsleep()
    await writeFile(join(root.path, 'shop/server.js'), 'process.exit(3)')
    const began = performance.now()
    const { status, headers } = await service.get('shop')
    assert.deepEqual([status, headers['x-stackquay-notice']], [503, 'project_failed'])
    assert.ok(performance.now() - began < 45_000)
    await writeFile(join(root.path, 'shop/server.js'), server)
    await service.client.call('startProject', { params, query })
    assert.equal((await service.get('shop')).status, 200)
  })

  it('are set, put to sleep and woken on the page', { timeout: 120_000 }, async () => {
    let errors: readonly string[]
    ;({ browser, page, errors } = await openPage(service, 30_000, { undisturbed: true }))
    await page.goto(`${service.url}/projects/shop/settings`)
    const panel = page.locator('#sleep')
    await panel.getByLabel('Sleep after').fill('soon')
    await panel.getByRole('button', { name: 'Save sleep' }).click()
    await panel.getByText('"soon" is not from 1m to 30d').waitFor()
    await panel.getByLabel('Sleep after').fill('2h')
    await panel.getByLabel('Keep awake during').fill('mon-fri 08:00-19:00')
    await panel.getByLabel('Time zone of these hours').fill('Europe/Berlin')
    await assertLooks(page, 'sleep-settings')
    await panel.getByRole('button', { name: 'Save sleep' }).click()
    const wanted = { after: '2h', hours: 'mon-fri 08:00-19:00', timezone: 'Europe/Berlin' }
    await until(
      async () =>
        JSON.stringify((await service.client.call('getProject', { params })).sleep) === JSON.stringify(wanted),
      'the settings to be stored',
    )

    await page.goto(`${service.url}/projects/shop`)
    await page.getByRole('button', { name: 'More actions' }).first().click()
    await page.getByRole('menuitem', { name: 'Put to sleep' }).click()
    await page.getByText('Somebody put it to sleep').waitFor({ timeout: 20_000 })
    await page.getByRole('button', { name: 'Wake', exact: true }).waitFor()
    await assertLooks(page, 'sleep-overview')
    await page.goto(`${service.url}/projects`)
    await page.getByText('Asleep').first().waitFor()
    await assertLooks(page, 'sleep-list')
    await page.goto(`${service.url}/projects/shop`)
    await page.getByRole('button', { name: 'Wake', exact: true }).click()
    await page.getByRole('button', { name: 'Restart', exact: true }).waitFor({ timeout: 20_000 })
    assert.equal(await state(), 'running')
    // Of what was wrong above.
    assert.deepEqual(
      errors.filter((error) => !error.startsWith('422 ')),
      [],
    )
  })
})
