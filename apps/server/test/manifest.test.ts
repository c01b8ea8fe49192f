import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeTypes, serviceTypes } from '@stackquay/catalog'
import type { ProjectPatch, ProjectView } from '@stackquay/contract'
import { manifestSchema } from '@stackquay/domain/manifest-schema'
import { allTypes, generator, offersOfAll, randomPatch } from '@stackquay/domain/test/random-patch'
import { openTestApp, type PlanAnswer, type ProblemAnswer, type TestApp } from './projects-support.ts'

type Fields = Record<string, unknown>

async function shop(app: TestApp, body: object, { start = true, name = 'Shop' } = {}): Promise<ProjectView> {
  app.engine.machine.files.has = () => true
  const made = await app.ask('POST', '/projects?wait=30', { name, static: {}, ...body, start })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  assert.equal(made.body.operation?.state, 'succeeded', JSON.stringify(made.body.operation))
  return (await app.ask('GET', `/projects/${made.body.id}`)).body
}

const written = async ({ ask }: TestApp, slug = 'shop') =>
  (await ask<{ manifest: string }>('GET', `/projects/${slug}/manifest`)).body.manifest
const plan = async ({ ask }: TestApp, body: object, slug = 'shop') =>
  (await ask<PlanAnswer>('POST', `/projects/${slug}/manifest/plan`, body)).body.plan
const apply = ({ ask }: TestApp, body: object, slug = 'shop') =>
  ask('POST', `/projects/${slug}/manifest/apply?wait=30`, body)

/** What an apply that changes nothing must leave as it is. */
const trace = async ({ store, ask, engine }: TestApp, id: string) => ({
  record: (await ask('GET', `/projects/${id}`)).body,
  audit: (await store.audit.list({ limit: 1 }))[0]?.seq,
  applied: engine.applied.length,
  secrets: await store.secrets.of(id),
  data: [...engine.machine.data.keys()],
})

test('the file of any project applied to it changes nothing, with prune and without: no plan, same generation, no entry', async (t) => {
  const app = await openTestApp(t)
  let projects = 0
  for (let seed = 0; projects < 30 && seed < 90; seed += 1) {
    const random = generator(seed)
    const nothing = { runtimes: {}, services: {}, databases: {} }
    const some: ProjectPatch = randomPatch(random, nothing, {
      ...allTypes,
      offers: offersOfAll,
      secret: () => 'hush-in-settings',
    })
    const env = { PLAIN: '007', SOME: { value: 'x', runtimes: ['node'] }, TOKEN: { value: 'hush', secret: true } }
    const slug = `p${seed}`
    const made = await app.ask('POST', '/projects?wait=30', { static: {}, env, ...some, name: slug, start: false })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    app.engine.machine.files.has = () => true
    const { id } = made.body
    const started = await app.ask('POST', `/projects/${slug}/start?wait=30`)
    // Whether settings can run together is another test's matter; a project that only was described has a file too.
    if (started.status === 422 && random.chance(0.5)) continue
    projects += 1
    const manifest = await written(app, slug)
    assert.ok(!manifest.includes('hush'), manifest)
    const before = await trace(app, id)
    for (const prune of [false, true]) {
      const planned = await plan(app, { manifest, prune }, slug)
      assert.deepEqual(
        [planned.steps, planned.restarts, planned.changes, planned.deletesData],
        [[], [], [], []],
        manifest,
      )
      const answer = await apply(app, { manifest, prune }, slug)
      assert.deepEqual([answer.status, answer.body.operation], [200, null], JSON.stringify(answer.body))
      assert.deepEqual(await trace(app, id), before, `seed ${seed}, prune ${prune}\n${manifest}`)
    }
    await app.ask('DELETE', `/projects/${slug}?confirm=${slug}&data=delete&wait=30`)
  }
  assert.equal(projects, 30)
  assert.deepEqual(app.errors, [])
})

const everything = {
  ...Object.fromEntries(serviceTypes.map(({ name }) => [name, {}])),
  databases: { main: { type: 'postgres' } },
  env: { PLAIN: 'x', TOKEN: { value: 'hush', secret: true }, OTHER: { value: 'shh', secret: true } },
  healthCheck: { path: '/' },
}

test('without prune a file changes what it names and leaves the rest', async (t) => {
  const app = await openTestApp(t)
  const before = await shop(app, everything)
  const answer = await apply(app, { manifest: 'version: 1\nenv:\n  PLAIN: y\n' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.deepEqual(answer.body.env, { ...before.env, PLAIN: { ...before.env.PLAIN!, value: 'y' } })
  for (const { name } of [...runtimeTypes, ...serviceTypes]) assert.deepEqual(answer.body[name], before[name], name)
  assert.deepEqual([answer.body.databases, answer.body.healthCheck], [before.databases, before.healthCheck])
})

test('prune takes away what the file does not name, as planned; data, databases and named secrets stay', async (t) => {
  const app = await openTestApp(t)
  const { engine, store } = app
  const { id, databases } = await shop(app, everything)
  const data = [...engine.machine.data.keys()].sort()
  const kept = serviceTypes[0]!
  const manifest = `version: 1\nstatic:\n${kept.name}:\nenv:\n  TOKEN: {secret: true}\n`
  const planned = await plan(app, { manifest, prune: true })
  const gone = serviceTypes.filter((kind) => kind !== kept).map(({ name }) => name)
  assert.deepEqual([...planned.stops].sort(), gone.toSorted())
  assert.deepEqual([planned.deletesData, planned.restarts], [[], ['static']])
  const dry = await app.ask<PlanAnswer>('POST', '/projects/shop/manifest/apply?dryRun=true', {
    manifest,
    prune: true,
  })
  assert.deepEqual(dry.body.plan, planned)

  const applied = engine.applied.length
  const answer = await apply(app, { manifest, prune: true })
  assert.equal(answer.body.operation?.state, 'succeeded', JSON.stringify(answer.body))
  assert.deepEqual(
    engine.applied.slice(applied).map(({ step }) => step.title),
    planned.steps.map(({ title }) => title),
  )
  for (const { name } of serviceTypes)
    assert.equal((answer.body[name] as Fields).enabled, name === kept.name, `${name} is only switched off`)
  assert.deepEqual(answer.body.databases, databases)
  assert.equal(answer.body.healthCheck, null)
  assert.deepEqual([...engine.machine.data.keys()].sort(), data)
  assert.deepEqual(Object.keys(answer.body.env), ['TOKEN'])
  const secrets = await store.secrets.of(id)
  assert.equal((await store.secrets.reveal(secrets['env/TOKEN']!.secret)).expose(), 'hush')
  assert.ok(!('env/OTHER' in secrets))
  assert.equal(engine.machine.workloads.get(`${id}/static`)?.env.TOKEN, 'hush')
  const listed = await app.ask<{ keptData: { kind: string }[] }>('GET', '/projects/shop/extras')
  assert.deepEqual(
    listed.body.keptData.map(({ kind }) => kind),
    serviceTypes.filter((kind) => kind !== kept && kind.keepsData).map(({ name }) => name),
  )
  const again = await plan(app, { manifest, prune: true })
  assert.deepEqual([again.steps, again.changes], [[], []])
})

test('a file of one project makes another like it, without its secrets, which it asks for', async (t) => {
  const app = await openTestApp(t)
  const before = await shop(app, everything)
  const manifest = await written(app)
  const bare = await shop(app, {}, { name: 'Bare' })
  assert.deepEqual(
    (await plan(app, { manifest }, 'bare')).warnings,
    ['TOKEN', 'OTHER'].map(
      (name) =>
        `The project file names the secret ${name}, which has no value yet. Set it before the project needs it.`,
    ),
  )
  const answer = await apply(app, { manifest }, 'bare')
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const settings = (record: ProjectView, name: string) => {
    const { hostPort: _hostPort, ...rest } = record[name] as Fields
    return rest
  }
  for (const { name } of serviceTypes) assert.deepEqual(settings(answer.body, name), settings(before, name), name)
  assert.deepEqual(Object.keys(answer.body.env), ['PLAIN'])
  assert.notEqual(bare.id, before.id)
})

test('a password of a service in a file is refused with its place, whoever sends it and whatever else it says', async (t) => {
  const app = await openTestApp(t)
  const before = await shop(app, {})
  for (const kind of serviceTypes)
    for (const path of kind.settings.secretFields) {
      // JSON is YAML.
      const manifest = JSON.stringify({
        [kind.name]: path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), 'hush'),
      })
      for (const answer of [
        await app.ask<ProblemAnswer>('POST', '/projects/shop/manifest/plan', { manifest }),
        await app.ask<ProblemAnswer>('POST', '/projects/shop/manifest/apply', { manifest }),
        await app.ask<ProblemAnswer>('POST', '/projects/from-manifest', { manifest, name: 'New' }),
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
  assert.deepEqual((await app.ask('GET', '/projects/shop')).body, before)
})

test('a project file sets who receives a variable, and a secret keeps its text', async (t) => {
  const app = await openTestApp(t)
  const { id } = await shop(app, { node: {}, env: { A: 'x', TOKEN: { value: 'hush', secret: true } } })
  const manifest = 'env:\n  A: {value: x, runtimes: [node]}\n  TOKEN: {secret: true, runtimes: [node]}\n'
  const { body } = await apply(app, { manifest })
  assert.deepEqual(
    Object.values(body.env).map(({ runtimes }) => runtimes),
    [['node'], ['node']],
  )
  const environment = (name: string) => app.engine.machine.workloads.get(`${id}/${name}`)!.env
  assert.deepEqual([environment('node').A, environment('node').TOKEN], ['x', 'hush'])
  assert.deepEqual(['A' in environment('static'), 'TOKEN' in environment('static')], [false, false])
})

test('the published schema is the one that the parser goes by, and needs nobody', async (t) => {
  const { app } = await openTestApp(t)
  const answer = await app.http.inject({ method: 'GET', url: '/api/v1/stackquay.schema.json' })
  assert.equal(answer.statusCode, 200)
  assert.deepEqual(answer.json(), manifestSchema())
})
