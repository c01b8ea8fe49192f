import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Called, openTestApp, type TestApp } from './app-support.ts'

const file = (name: string) => readFileSync(new URL(`../../../examples/addons/${name}.yml`, import.meta.url), 'utf8')

const name = 'keycloak'
const native = `${file(name)}native: {programs: [keycloak], argv: [start-dev]}\n`

/** A project, with an addon that keeps data and has secrets. */
async function opened(t: Parameters<typeof openTestApp>[0]) {
  const app = await openTestApp(t)
  const found = { directory: '/fake/bin', available: true, reason: null, bundled: true }
  app.engine.toolchainsFound = [
    ...app.engine.toolchainsFound,
    { name: `addon-${name}`, version: '26.4.1', program: '/fake/bin/keycloak', ...found },
  ]
  const headers = await app.session()
  const call = (id: string, options: Parameters<TestApp['call']>[1] = {}) => app.call(id, { headers, ...options })
  const added = await call('addAddon', { body: { yaml: native } })
  assert.equal(added.status, 201, added.body)
  const made = await call('createProject', { body: { name: 'Shop' }, query: { wait: '30' } })
  assert.ok(made.status < 300, made.body)
  const project = { id: 'shop' }
  return { ...app, call, project }
}

const ok = (answer: Called) => {
  assert.ok(answer.status < 300, answer.body)
  return answer.json
}

test('an addon appears wherever a service does, without a change outside of its file', async (t) => {
  const { call, project, engine } = await opened(t)
  const services = ok(await call('listServices')).items
  const offered = services.find((one: { name: string }) => one.name === name)
  assert.deepEqual(
    [offered.under, offered.available, offered.hasCredentials, offered.keepsData],
    ['addons', true, true, true],
  )

  const { plan } = ok(
    await call('setProjectAddon', { params: { ...project, name }, query: { dryRun: 'true' }, body: {} }),
  )
  assert.ok(
    plan.changes.some((one: { field: string }) => one.field === 'addons.keycloak'),
    JSON.stringify(plan),
  )
  assert.equal(ok(await call('getProject', { params: project })).addons, undefined)

  ok(await call('updateProject', { params: project, body: { addons: { [name]: { enabled: true } } } }))
  ok(await call('startProject', { params: project, query: { wait: '30' } }))
  const shown = ok(await call('getProject', { params: project }))
  assert.deepEqual([shown.addons[name].enabled, shown.addons[name].version], [true, '26.4'])
  assert.ok(Number.isInteger(shown.addons[name].hostPort))
  assert.ok(
    shown.status.workloads.some((one: { name: string; kind: string }) => one.name === name && one.kind === 'service'),
  )
  assert.ok((await engine.dataNames(shown.id, AbortSignal.timeout(5000))).includes(name))

  const credentials = ok(await call('getAddonCredentials', { params: { ...project, name } }))
  assert.deepEqual(Object.keys(credentials), ['url', 'username', 'password'])
  assert.match(credentials.password, /^[0-9A-Za-z]{32}$/)
  ok(await call('rotateAddonCredentials', { params: { ...project, name }, query: { wait: '30' } }))
  assert.notEqual(
    ok(await call('getAddonCredentials', { params: { ...project, name } })).password,
    credentials.password,
  )

  const { manifest } = ok(await call('getManifest', { params: project }))
  assert.match(manifest, /addons:\n {2}keycloak:\n {4}version: "?26\.4/)
  const applied = await call('applyManifest', { params: project, body: { manifest }, query: { dryRun: 'true' } })
  assert.deepEqual(ok(applied).plan.changes, [])
  const pruned = await call('planManifest', { params: project, body: { manifest: 'name: Shop\n', prune: true } })
  assert.ok(JSON.stringify(ok(pruned).plan.changes).includes('"before":true,"after":false'))
})

test('data of an addon that is off is kept, and it cannot be taken from the instance meanwhile', async (t) => {
  const { call, project } = await opened(t)
  ok(await call('setProjectAddon', { params: { ...project, name }, body: {} }))
  ok(await call('startProject', { params: project, query: { wait: '30' } }))
  const used = await call('deleteAddon', { params: { name } })
  assert.deepEqual([used.status, used.json.code], [409, 'conflict'])
  assert.match(used.json.detail, /in use: shop\./)

  const backup = () => call('createBackup', { params: project, body: { parts: ['settings'] }, query: { wait: '30' } })
  const on = ok(await backup()).id
  ok(await call('disableProjectAddon', { params: { ...project, name }, query: { wait: '30' } }))
  const kept = ok(await call('listExtras', { params: project })).keptData
  assert.deepEqual(
    kept.map((one: { kind: string; version: string }) => [one.kind, one.version]),
    [[name, '26.4']],
  )
  assert.match((await call('deleteAddon', { params: { name } })).json.detail, /its data is kept/)

  ok(await call('deleteKeptData', { params: { ...project, kind: name }, query: { purge: 'true', wait: '30' } }))
  assert.equal((await call('deleteAddon', { params: { name } })).status, 204)
  const gone = await call('setProjectAddon', { params: { ...project, name }, body: {} })
  assert.deepEqual([gone.status, gone.json.errors[0].code], [422, 'unknown_addon'])

  // A backup that needs it waits for it; one that had it off does without.
  const again = (id: string) =>
    call('restoreBackupAs', { params: { backup: id }, body: { name: 'Again' }, query: { wait: '30' } })
  const refused = await again(on)
  assert.deepEqual([refused.status, refused.json.code], [422, 'unavailable_here'])
  assert.match(refused.json.detail, /the addon "keycloak"/)
  ok(await again(ok(await backup()).id))
  assert.equal(ok(await call('getProject', { params: { id: 'again' } })).addons, undefined)
})

test('a project goes on with the definition that it took, and takes the new one at its next start', async (t) => {
  const { call, project } = await opened(t)
  ok(await call('setProjectAddon', { params: { ...project, name }, body: {} }))
  ok(await call('startProject', { params: project, query: { wait: '30' } }))
  const yaml = native.replaceAll('start-dev', 'start-dev-again')
  const tried = ok(await call('addAddon', { body: { yaml }, query: { validate: 'true' } }))
  assert.deepEqual(
    tried.usedBy.map((one: { slug: string; outdated: boolean }) => [one.slug, one.outdated]),
    [['shop', true]],
  )
  const [before] = ok(await call('listProjectAddons', { params: project })).items
  assert.equal(before.outdated, false)
  assert.equal((await call('addAddon', { body: { yaml } })).status, 200)
  const [told] = ok(await call('listProjectAddons', { params: project })).items
  assert.equal(told.outdated, true)
  ok(await call('updateProject', { params: project, body: { name: 'Shop again' } }))
  assert.equal(ok(await call('listProjectAddons', { params: project })).items[0].outdated, true)
  ok(await call('restartProject', { params: project, query: { wait: '30' } }))
  assert.equal(ok(await call('listProjectAddons', { params: project })).items[0].outdated, false)
})

test('a file that is wrong is refused at its lines, and changes nothing', async (t) => {
  const { call } = await opened(t)
  const wrong = await call('addAddon', { body: { yaml: `${native}privileged: true\n` } })
  assert.equal(wrong.status, 422)
  const [fault] = wrong.json.errors
  assert.deepEqual(
    [fault.pointer, fault.code, fault.line],
    ['/yaml/privileged', 'unknown_field', native.split('\n').length],
  )
  const deep = await call('addAddon', { body: { yaml: '['.repeat(60_000) } })
  assert.equal(deep.status, 422, deep.body)
  assert.equal(ok(await call('listAddons')).items.length, 1)
})

test('on an engine of programs an addon of images says why it cannot run', async (t) => {
  const { call, session } = await openTestApp(t)
  const headers = await session()
  ok(await call('addAddon', { headers, body: { yaml: file(name) } }))
  ok(await call('createProject', { headers, body: { name: 'Shop' } }))
  const refused = await call('setProjectAddon', { headers, params: { id: 'shop', name }, body: {} })
  assert.equal(refused.status, 422, refused.body)
  assert.match(refused.body, /comes as an image alone/)
})

test('a version that a newer file brings opens the data after a backup, taken of what the older file ran', async (t) => {
  const { app, call, project, engine } = await opened(t)
  ok(await call('setProjectAddon', { params: { ...project, name }, body: {} }))
  const started = await call('startProject', { params: project, query: { wait: '30' } })
  const { id } = ok(await call('getProject', { params: project }))
  assert.ok(engine.machine.workloads.has(`${id}/${name}`), started.body)
  engine.toolchainsFound = engine.toolchainsFound.map((one) =>
    one.name === `addon-${name}` ? { ...one, version: '26.5.0' } : one,
  )
  const newer = native.replaceAll('26.4', '26.5')
  ok(await call('addAddon', { body: { yaml: newer } }))
  const body = { version: '26.5' }
  const changed = await call('setProjectAddon', { params: { ...project, name }, query: { wait: '30' }, body })
  assert.equal(ok(changed).operation?.state, 'succeeded', changed.body)
  const [backup, ...more] = ok(await call('listBackups', { params: project })).items
  assert.deepEqual([backup.source, more], ['before-upgrade', []])
  assert.equal(backup.parts.find((one: { id: string }) => one.id === `service:${name}`)?.version, '26.4')
  const { spec } = (await app.store.projects.find(id))!
  assert.deepEqual(
    [spec.services[name]?.version, spec.addons?.[name]?.versions.map(({ version }) => version)],
    ['26.5', ['26.5']],
  )
})
