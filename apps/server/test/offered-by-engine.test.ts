import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestApp } from './app-support.ts'

interface Offered {
  readonly name: string
  readonly versions: readonly { readonly version: string; readonly available: boolean }[]
}

const availableOf = (offered: readonly Offered[], name: string) =>
  offered
    .find((one) => one.name === name)!
    .versions.filter(({ available }) => available)
    .map(({ version }) => version)

test('an engine of images offers every release, one of the machine what was found there', async (t) => {
  const { call, session } = await openTestApp(t)
  const headers = await session()
  const runtimesOf = async (query: Record<string, string>) => (await call('listRuntimes', { headers, query })).json
  const onMachine = await runtimesOf({ engine: 'native' })
  assert.equal(onMachine.engine, 'native')
  assert.deepEqual(availableOf(onMachine.runtimes, 'node'), ['26'])
  const inImages = await runtimesOf({ engine: 'docker' })
  assert.equal(inImages.engine, 'docker')
  assert.ok(availableOf(inImages.runtimes, 'node').includes('24'))
  assert.ok(inImages.runtimes.every(({ available }: { available: boolean }) => available))
  assert.deepEqual(await runtimesOf({}), onMachine)

  const services = await call('listServices', { headers, query: { engine: 'docker' } })
  assert.ok(availableOf(services.json.items, 'postgresql').length >= 4)
})

test('an engine that there is not is refused with the names of those that there are', async (t) => {
  const { call, session } = await openTestApp(t)
  const answer = await call('listRuntimes', { headers: await session(), query: { engine: 'podman' } })
  assert.equal(answer.status, 400)
  assert.match(answer.body, /native.*docker/s)
})
