import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import {
  endAll,
  freePorts,
  isAlive,
  launchBrowser,
  longestTurn,
  spawnTracked,
  temporaryHome,
  waitFor,
} from '../src/index.ts'

test('a temporary home is there while it is used and gone after', async () => {
  let path = ''
  {
    await using home = await temporaryHome()
    path = home.path
    assert.ok(existsSync(path))
    assert.equal(home.env.STACKQUAY_HOME, path)
  }
  assert.ok(!existsSync(path))
})

test('free ports are all different and can be listened on', async () => {
  const ports = await freePorts(5)
  assert.equal(new Set(ports).size, 5)
  const server = createServer().listen(ports[0], '127.0.0.1')
  await waitFor('the port', () => server.listening)
  server.close()
})

test('a turn of the event loop is as long as it computes or stands still, and not what came in turns', async () => {
  const computing = await longestTurn(async () => {
    const begun = process.threadCpuUsage().user
    while (process.threadCpuUsage().user - begun < 80_000);
  })
  assert.ok(computing >= 75, `${computing} ms`)
  const still = await longestTurn(async () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 80)
  })
  assert.ok(still >= 75, `${still} ms`)
  const turns = await longestTurn(() => new Promise((resolve) => setTimeout(resolve, 400)))
  assert.ok(turns < 200, `${turns} ms`)
})

test('waiting answers the first answer there is, through errors, and names what it waited for in vain', async () => {
  let calls = 0
  const answer = await waitFor('three', () => {
    calls += 1
    if (calls === 1) throw new Error('not yet')
    return calls === 3 && 'three'
  })
  assert.equal(answer, 'three')
  await assert.rejects(
    waitFor('the moon', () => false, { timeoutMs: 30 }),
    /in vain for the moon/,
  )
})

test('a tracked program hands over its lines and ends with its children', async () => {
  const script = `const {spawn} = require('node:child_process')
    process.on('SIGTERM', () => {})
    console.log('child ' + spawn('sleep', ['600']).pid)
    setInterval(() => {}, 1000)`
  const tracked = spawnTracked([process.execPath, '-e', script])
  const child = Number((await tracked.line(/child (\d+)/))[1])
  assert.ok(await isAlive(child))
  await tracked.end(200)
  assert.deepEqual(await tracked.exit(), { code: null, signal: 'SIGKILL' })
  await waitFor('the child’s end', async () => !(await isAlive(child)))
})

test('a program that ends without the awaited line fails at once, with its output', async () => {
  const tracked = spawnTracked([process.execPath, '-e', 'console.error("no luck"); process.exit(3)'])
  await assert.rejects(tracked.line(/ready/), /ended \(3\)[\s\S]*no luck/)
  assert.deepEqual(await tracked.exit(), { code: 3, signal: null })
  await assert.rejects(spawnTracked(['/does/not/exist']).line(/x/), /ENOENT/)
  await endAll()
})

test('the browser opens a page', async () => {
  const server = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<h1>Quay</h1>'),
  ).listen(0, '127.0.0.1')
  await waitFor('the server', () => server.listening)
  try {
    await using browser = await launchBrowser()
    const page = await browser.page()
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    assert.equal(await page.locator('h1').textContent(), 'Quay')
  } finally {
    server.close()
    server.closeAllConnections()
  }
})
