import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Conversation, converse } from '@stackquay/engine-api/conformance-conversation'
import { type NativeHarness, nativeHarness } from './native-harness.ts'

describe('programs of others on the ports of a workload', () => {
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

  test('where a workload lost its port to a stranger there is no address, and there is one again when it is back', async () => {
    // A leader that lives on, like a development server whose child ends; the child comes back when the port is free.
    const source = `
      if (process.argv[1] === 'child') require('http').createServer((_, a) => a.end('own')).listen(process.env.PORT, '127.0.0.1')
      else {
        const start = () => {
          const child = require('child_process').spawn(process.execPath, ['-e', process.env.SOURCE, 'child'], { stdio: ['ignore', 'ignore', 'inherit'] })
          console.log('child ' + child.pid)
          child.on('exit', () => setTimeout(start, 300))
        }
        start()
      }`
    const run = harness.script(source)
    const env = { SOURCE: source }
    const workload = await talk.workload('lost', { run, env })
    const port = workload.ports[0]?.hostPort ?? 0
    await talk.start(workload)
    assert.deepEqual(await talk.engine.address(workload.ref, 'http'), { host: '127.0.0.1', port })
    const { text } = await talk.line(workload.ref, (line) => line.text.startsWith('child '))
    process.kill(Number(text.slice(6)), 'SIGKILL')
    const stranger = await harness.holdPort(port)
    await until(async () => (await talk.engine.address(workload.ref, 'http')) === null, 5000)
    const seen = await talk.observe('lost')
    assert.deepEqual([seen?.state, seen?.health], ['running', 'unhealthy'])
    assert.match(seen?.reason ?? '', /held by another program/)
    await stranger.release()
    await until(async () => (await talk.engine.address(workload.ref, 'http'))?.host === '127.0.0.1', 10_000)
    await talk.remove(workload)
  })

  test('a workload that ended has no address, also when its port is taken', async () => {
    const workload = await talk.workload('ended')
    await talk.start(workload)
    const { pid } = (await talk.observe('ended')) ?? {}
    process.kill(pid ?? 0, 'SIGKILL')
    await until(async () => (await talk.observe('ended'))?.state === 'exited', 5000)
    const stranger = await harness.holdPort(workload.ports[0]?.hostPort ?? 0)
    assert.equal(await talk.engine.address(workload.ref, 'http'), null)
    await stranger.release()
    await talk.remove(workload)
  })

  test('beside a workload on all of IPv6 a stranger on 127.0.0.1 is not taken for it', async () => {
    const options = "{ port: process.env.PORT, host: '::', ipv6Only: true }"
    const run = harness.script(`require('http').createServer((_, a) => a.end('own')).listen(${options})`)
    const workload = await talk.workload('beside', { run })
    const port = workload.ports[0]?.hostPort ?? 0
    const [start, ready] = talk.engine.plan({ type: 'start', workload })
    assert.ok(start && ready)
    await talk.apply(start)
    await talk.apply(ready)
    const stranger = await harness.holdPort(port)
    assert.deepEqual(await talk.engine.address(workload.ref, 'http'), { host: '::1', port })
    await stranger.release()
    await talk.remove(workload)
  })

  test('a port without a check leads to the workload alone', async () => {
    const workload = await talk.workload('unchecked', { run: harness.programs.hang(), health: { kind: 'none' } })
    await talk.start(workload)
    assert.equal(await talk.engine.address(workload.ref, 'http'), null)
    const stranger = await harness.holdPort(workload.ports[0]?.hostPort ?? 0)
    assert.equal(await talk.engine.address(workload.ref, 'http'), null)
    await stranger.release()
    await talk.remove(workload)
  })
})

async function until(isTrue: () => Promise<boolean>, mostMs: number): Promise<void> {
  const end = performance.now() + mostMs
  while (!(await isTrue())) {
    assert.ok(performance.now() < end, `not within ${mostMs} ms`)
    await sleep(50)
  }
}
