import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createUpdatesCheck, releaseIn } from '../src/system/updates-check.ts'

async function releases(t: TestContext, answer: { status: number; text: string }) {
  const asked: (string | undefined)[] = []
  const server = createServer((request, response) => {
    asked.push(request.headers['user-agent'])
    response.writeHead(answer.status, { location: 'http://127.0.0.1:1/' }).end(answer.text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const clock = { time: Date.parse('2026-11-27T12:00:00Z') }
  let url: string | null = address
  const set = (next: string | null) => {
    url = next
  }
  const check = createUpdatesCheck({ updateUrl: () => url, version: '1.4.0', now: () => new Date(clock.time) })
  return { asked, clock, address, check, set }
}

test('nobody is asked unless there is an address', async (t) => {
  const world = await releases(t, { status: 200, text: '{"version":"9.0.0"}' })
  world.set(null)
  assert.deepEqual(await world.check(), [])
  assert.deepEqual(world.asked, [])
})

test('a newer version is told, once asked a day, and nothing but the version is sent', async (t) => {
  const answer = { status: 200, text: '{"tag_name":"v1.10.0","html_url":"https://forge.example/releases/1.10.0"}' }
  const world = await releases(t, answer)
  const [found] = await world.check()
  assert.deepEqual([found?.status, found?.detail], ['info', 'Version 1.10.0 is there; this is 1.4.0.'])
  assert.match(found?.hint ?? '', /https:\/\/forge\.example\/releases\/1\.10\.0/)
  await world.check()
  assert.deepEqual(world.asked, ['Stackquay/1.4.0'])
  world.clock.time += 25 * 3_600_000
  answer.text = '{"version":"1.4.0"}'
  assert.deepEqual(
    (await world.check()).map(({ status }) => status),
    ['ok'],
  )
  assert.equal(world.asked.length, 2)
})

test('an answer that is none is a warning, asked again after an hour', async (t) => {
  const answer = { status: 302, text: '' }
  const world = await releases(t, answer)
  assert.deepEqual(
    (await world.check()).map(({ status, detail }) => [status, detail]),
    [['warning', 'It is not known whether there is a newer version: The answer was 302.']],
  )
  Object.assign(answer, { status: 200, text: 'x'.repeat(300_000) })
  world.clock.time += 3_600_001
  assert.match((await world.check())[0]!.detail, /too long/)
  world.set('http://169.254.169.254/latest')
  assert.equal((await world.check())[0]!.status, 'warning')
  assert.equal(world.asked.length, 2)
})

test('only a version is one, and only a web address is shown', () => {
  assert.deepEqual(releaseIn('{"version":"2.0","url":"javascript:alert(1)"}'), { version: '2.0', url: null })
  for (const text of ['', '[]', 'null', '{"version":"<b>"}', '{"tag_name":"nightly"}', '{"version":{"a":1}}'])
    assert.throws(() => releaseIn(text), text)
})
