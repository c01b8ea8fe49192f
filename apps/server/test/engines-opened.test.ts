import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { engineNames } from '@stackquay/contract'
import { emptySpec } from '@stackquay/domain'
import { noIsolation, oneAccount } from '@stackquay/engines'
import { newId, openStore } from '@stackquay/store'
import { readConfig } from '../src/config.ts'
import { openEngines } from '../src/engines.ts'
import { keyPlace } from '../src/sealing-key.ts'

/** An instance whose Docker does not answer. */
async function instance(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-engines-'))
  const store = await openStore({
    file: join(home, 'state.db'),
    ...keyPlace(home, null).candidates,
    checkpointFile: join(home, 'audit.checkpoint'),
    clock: { now: () => new Date() },
  })
  t.after(async () => {
    await store.close()
    await rm(home, { recursive: true, force: true })
  })
  const isolation = { accounts: oneAccount({ uid: 65534, gid: 65534 }), engine: noIsolation } as unknown as Parameters<
    typeof openEngines
  >[0]['isolation']
  const open = async (engine?: string) => {
    const config = readConfig({
      STACKQUAY_HOME: home,
      DOCKER_HOST: `unix://${join(home, 'no-docker.sock')}`,
      ...(engine === undefined ? {} : { STACKQUAY_ENGINE: engine }),
    })
    const { engines, usual, named } = await openEngines({ store, config, isolation }, undefined)
    const ids = engines.all.map(({ id }) => id)
    const has = engineNames.filter((name) => named(name)?.id === name)
    await engines.close()
    return { usual, ids, has: [...has].sort() }
  }
  const project = (engine: (typeof engineNames)[number]) =>
    store.transaction((tx) =>
      tx.projects.insert({
        id: newId('prj'),
        slug: 'shop',
        spec: emptySpec('Shop'),
        engine,
        desired: 'stopped',
        phase: 'ready',
        path: home,
        source: { kind: 'empty' },
      }),
    )
  return { store, open, project }
}

test('an engine that may be away is opened where it is named or a project is on it, and the one of new projects stands first', async (t) => {
  const { open, project } = await instance(t)
  assert.deepEqual(await open('native'), { usual: 'native', ids: ['native'], has: ['native'] })
  assert.deepEqual(await open('docker'), { usual: 'docker', ids: ['docker', 'native'], has: ['docker', 'native'] })
  await project('docker')
  assert.deepEqual(await open('native'), { usual: 'native', ids: ['native', 'docker'], has: ['docker', 'native'] })
})

test('auto takes the engine of every instance where no other answers, and stays with it', async (t) => {
  const { store, open } = await instance(t)
  const expected = { usual: 'native', ids: ['native', 'docker'], has: ['docker', 'native'] }
  assert.deepEqual(await open(), expected)
  assert.equal(await store.settings.get('engine'), 'native')
  assert.deepEqual(await open('auto'), expected)
})

test('what auto recorded holds whether or not that engine answers now', async (t) => {
  const { store, open } = await instance(t)
  await store.transaction((tx) => tx.settings.set('engine', 'docker'))
  assert.deepEqual(await open('auto'), { usual: 'docker', ids: ['docker', 'native'], has: ['docker', 'native'] })
})

test('an instance with projects from before there was a choice goes on as it was', async (t) => {
  const { open, project } = await instance(t)
  await project('native')
  assert.equal((await open('auto')).usual, 'native')
})
