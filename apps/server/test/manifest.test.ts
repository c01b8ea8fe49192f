import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeKinds, serviceKinds } from '@stackquay/catalog'
import type { ProjectPatch, ProjectView } from '@stackquay/contract'
import { manifestSchema } from '@stackquay/domain'
import { allKinds, generator, offersOfAll, randomPatch } from '@stackquay/domain/test/random-patch'
import { openTestHouse, type PlanAnswer, type ProblemAnswer, type TestHouse } from './projects-support.ts'

type Fields = Record<string, unknown>

async function shop(house: TestHouse, body: object, { start = true, name = 'Shop' } = {}): Promise<ProjectView> {
  house.engine.machine.files.has = () => true
  const made = await house.ask('POST', '/projects?wait=30', { name, static: {}, ...body, start })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  assert.equal(made.body.operation?.state, 'succeeded', JSON.stringify(made.body.operation))
  return (await house.ask('GET', `/projects/${made.body.id}`)).body
}

const written = async ({ ask }: TestHouse, slug = 'shop') =>
  (await ask<{ manifest: string }>('GET', `/projects/${slug}/manifest`)).body.manifest
const plan = async ({ ask }: TestHouse, body: object, slug = 'shop') =>
  (await ask<PlanAnswer>('POST', `/projects/${slug}/manifest/plan`, body)).body.plan
const apply = ({ ask }: TestHouse, body: object, slug = 'shop') =>
  ask('POST', `/projects/${slug}/manifest/apply?wait=30`, body)

/** What an apply that changes nothing must leave as it is. */
const trace = async ({ store, ask, engine }: TestHouse, id: string) => ({
  record: (await ask('GET', `/projects/${id}`)).body,
  audit: (await store.audit.list({ limit: 1 }))[0]?.seq,
  applied: engine.applied.length,
  secrets: await store.secrets.of(id),
  data: [...engine.machine.data.keys()],
})

test('the file of any project applied to it changes nothing, with prune and without: no plan, same generation, no entry', async (t) => {
  const house = await openTestHouse(t)
  let projects = 0
  for (let seed = 0; projects < 30 && seed < 90; seed += 1) {
    const random = generator(seed)
    const nothing = { runtimes: {}, services: {}, databases: {} }
    const some: ProjectPatch = randomPatch(random, nothing, {
      ...allKinds,
      offers: offersOfAll,
      secret: () => 'hush-in-settings',
    })
    const env = { PLAIN: '007', SOME: { value: 'x', runtimes: ['node'] }, TOKEN: { value: 'hush', secret: true } }
    const slug = `p${seed}`
    const made = await house.ask('POST', '/projects?wait=30', { static: {}, env, ...some, name: slug, start: false })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    house.engine.machine.files.has = () => true
    const { id } = made.body
    const started = await house.ask('POST', `/projects/${slug}/start?wait=30`)
    // Whether settings can run together is another test's matter; a project that only was described has a file too.
    if (started.status === 422 && random.chance(0.5)) continue
    projects += 1
    const manifest = await written(house, slug)
    assert.ok(!manifest.includes('hush'), manifest)
    const before = await trace(house, id)
    for (const prune of [false, true]) {
      const planned = await plan(house, { manifest, prune }, slug)
      assert.deepEqual(
        [planned.steps, planned.restarts, planned.changes, planned.deletesData],
        [[], [], [], []],
        manifest,
      )
      const answer = await apply(house, { manifest, prune }, slug)
      assert.deepEqual([answer.status, answer.body.operation], [200, null], JSON.stringify(answer.body))
      assert.deepEqual(await trace(house, id), before, `seed ${seed}, prune ${prune}\n${manifest}`)
    }
    await house.ask('DELETE', `/projects/${slug}?confirm=${slug}&data=delete&wait=30`)
  }
  assert.equal(projects, 30)
  assert.deepEqual(house.errors, [])
})

const everything = {
  ...Object.fromEntries(serviceKinds.map(({ name }) => [name, {}])),
  databases: { main: { type: 'postgres' } },
  env: { PLAIN: 'x', TOKEN: { value: 'hush', secret: true }, OTHER: { value: 'shh', secret: true } },
  healthCheck: { path: '/' },
}

test('without prune a file changes what it names and leaves the rest', async (t) => {
  const house = await openTestHouse(t)
  const before = await shop(house, everything)
  const answer = await apply(house, { manifest: 'version: 1\nenv:\n  PLAIN: y\n' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.deepEqual(answer.body.env, { ...before.env, PLAIN: { ...before.env.PLAIN!, value: 'y' } })
  for (const { name } of [...runtimeKinds, ...serviceKinds]) assert.deepEqual(answer.body[name], before[name], name)
  assert.deepEqual([answer.body.databases, answer.body.healthCheck], [before.databases, before.healthCheck])
})

test('prune takes away what the file does not name, as planned; data, databases and named secrets stay', async (t) => {
  const house = await openTestHouse(t)
  const { engine, store } = house
  const { id, databases } = await shop(house, everything)
  const data = [...engine.machine.data.keys()].sort()
  const kept = serviceKinds[0]!
  const manifest = `version: 1\nstatic:\n${kept.name}:\nenv:\n  TOKEN: {secret: true}\n`
  const planned = await plan(house, { manifest, prune: true })
  const gone = serviceKinds.filter((kind) => kind !== kept).map(({ name }) => name)
  assert.deepEqual([...planned.stops].sort(), gone.toSorted())
  assert.deepEqual([planned.deletesData, planned.restarts], [[], ['static']])
  const dry = await house.ask<PlanAnswer>('POST', '/projects/shop/manifest/apply?dryRun=true', {
    manifest,
    prune: true,
  })
  assert.deepEqual(dry.body.plan, planned)

  const applied = engine.applied.length
  const answer = await apply(house, { manifest, prune: true })
  assert.equal(answer.body.operation?.state, 'succeeded', JSON.stringify(answer.body))
  assert.deepEqual(
    engine.applied.slice(applied).map(({ step }) => step.title),
    planned.steps.map(({ title }) => title),
  )
  for (const { name } of serviceKinds)
    assert.equal((answer.body[name] as Fields).enabled, name === kept.name, `${name} is only switched off`)
  assert.deepEqual(answer.body.databases, databases)
  assert.equal(answer.body.healthCheck, null)
  assert.deepEqual([...engine.machine.data.keys()].sort(), data)
  assert.deepEqual(Object.keys(answer.body.env), ['TOKEN'])
  const secrets = await store.secrets.of(id)
  assert.equal((await store.secrets.reveal(secrets['env/TOKEN']!.secret)).expose(), 'hush')
  assert.ok(!('env/OTHER' in secrets))
  assert.equal(engine.machine.workloads.get(`${id}/static`)?.env.TOKEN, 'hush')
  const listed = await house.ask<{ keptData: { kind: string }[] }>('GET', '/projects/shop/extras')
  assert.deepEqual(
    listed.body.keptData.map(({ kind }) => kind),
    serviceKinds.filter((kind) => kind !== kept && kind.keepsData).map(({ name }) => name),
  )
  const again = await plan(house, { manifest, prune: true })
  assert.deepEqual([again.steps, again.changes], [[], []])
})

test('a file of one project makes another like it, without its secrets, which it asks for', async (t) => {
  const house = await openTestHouse(t)
  const before = await shop(house, everything)
  const manifest = await written(house)
  const bare = await shop(house, {}, { name: 'Bare' })
  assert.deepEqual(
    (await plan(house, { manifest }, 'bare')).warnings,
    ['TOKEN', 'OTHER'].map(
      (name) =>
        `The project file names the secret ${name}, which has no value yet. Set it before the project needs it.`,
    ),
  )
  const answer = await apply(house, { manifest }, 'bare')
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const settings = (record: ProjectView, name: string) => {
    const { hostPort: _hostPort, ...rest } = record[name] as Fields
    return rest
  }
  for (const { name } of serviceKinds) assert.deepEqual(settings(answer.body, name), settings(before, name), name)
  assert.deepEqual(Object.keys(answer.body.env), ['PLAIN'])
  assert.notEqual(bare.id, before.id)
})

test('a password of a service in a file is refused with its place, whoever sends it and whatever else it says', async (t) => {
  const house = await openTestHouse(t)
  const before = await shop(house, {})
  for (const kind of serviceKinds)
    for (const path of kind.settings.secretFields) {
      // JSON is YAML.
      const manifest = JSON.stringify({
        [kind.name]: path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), 'hush'),
      })
      for (const answer of [
        await house.ask<ProblemAnswer>('POST', '/projects/shop/manifest/plan', { manifest }),
        await house.ask<ProblemAnswer>('POST', '/projects/shop/manifest/apply', { manifest }),
        await house.ask<ProblemAnswer>('POST', '/projects/from-manifest', { manifest, name: 'New' }),
      ]) {
        assert.deepEqual([answer.status, answer.body.code], [422, 'manifest_invalid'])
        const [error] = answer.body.errors ?? []
        assert.deepEqual(
          [error?.code, error?.pointer, (error?.line ?? 0) >= 1],
          ['secret_in_file', `/${[kind.name, ...path].join('/')}`, true],
        )
        assert.ok(!JSON.stringify(answer.body).includes('hush'))
      }
    }
  assert.deepEqual((await house.ask('GET', '/projects/shop')).body, before)
})

test('a project file sets who receives a variable, and a secret keeps its text', async (t) => {
  const house = await openTestHouse(t)
  const { id } = await shop(house, { node: {}, env: { A: 'x', TOKEN: { value: 'hush', secret: true } } })
  const manifest = 'env:\n  A: {value: x, runtimes: [node]}\n  TOKEN: {secret: true, runtimes: [node]}\n'
  const { body } = await apply(house, { manifest })
  assert.deepEqual(
    Object.values(body.env).map(({ runtimes }) => runtimes),
    [['node'], ['node']],
  )
  const environment = (name: string) => house.engine.machine.workloads.get(`${id}/${name}`)!.env
  assert.deepEqual([environment('node').A, environment('node').TOKEN], ['x', 'hush'])
  assert.deepEqual(['A' in environment('static'), 'TOKEN' in environment('static')], [false, false])
})

test('the published schema is the one that the parser goes by, and needs nobody', async (t) => {
  const { house } = await openTestHouse(t)
  const answer = await house.app.inject({ method: 'GET', url: '/api/v1/stackquay.schema.json' })
  assert.equal(answer.statusCode, 200)
  assert.deepEqual(answer.json(), manifestSchema())
})
