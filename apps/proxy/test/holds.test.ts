import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, httpUpstream, proxyTo, route, table, until, upstreamAt } from './support.ts'

const restarting = (milliseconds: number) =>
  ({ kind: 'page', page: 'starting', holdUntil: Date.now() + milliseconds }) as const

test('requests wait while their project restarts, with their bodies, and none is lost', async (t) => {
  const bodies: string[] = []
  const upstream = await httpUpstream(t, async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    bodies.push(text)
    response.end(`got ${text}`)
  })
  const { port, control } = await proxyTo(t, restarting(60_000))
  const answers = Promise.all(
    Array.from({ length: 50 }, (_, index) => ask(port, { method: 'POST', path: '/', body: `body ${index}` })),
  )
  await until(async () => (await control.status())?.held === 50, 'all wait', 20_000)
  await control.putRoutes(table([route('shop', upstreamAt(upstream))], 2))
  assert.deepEqual(
    (await answers).map(({ status, text }) => `${status} ${text}`).toSorted(),
    Array.from({ length: 50 }, (_, index) => `200 got body ${index}`).toSorted(),
  )
  assert.equal(new Set(bodies).size, 50)
})

test('who waits gets the page when the time is over, when too many wait, and at once when nothing is held', async (t) => {
  const { port, control } = await proxyTo(t, restarting(1_500), { held: 2 })
  const waiting = [ask(port), ask(port)]
  await until(async () => (await control.status())?.held === 2, 'two wait', 20_000)
  const third = await ask(port)
  assert.equal(third.status, 503)
  assert.equal((await control.status())?.held, 2)
  for (const answer of await Promise.all(waiting))
    assert.equal(answer.headers['x-stackquay-notice'], 'project_starting')
})

test('a new table that still holds lets them wait on; one with other rules is asked again', async (t) => {
  const upstream = await httpUpstream(t, (_request, response) => response.end('hello'))
  const { port, control } = await proxyTo(t, restarting(60_000))
  const answer = ask(port)
  await until(async () => (await control.status())?.held === 1, 'it waits', 20_000)
  await control.putRoutes(table([route('shop', restarting(60_000))], 2))
  await until(async () => (await control.status())?.held === 1, 'it waits on', 20_000)
  await control.putRoutes(table([{ ...route('shop', upstreamAt(upstream)), rules: { allow: ['10.0.0.1'] } }], 3))
  assert.equal((await answer).status, 403)
})
