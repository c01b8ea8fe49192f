import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type InstanceSettingKey, instanceSettingKeys } from '@stackquay/contract'
import { readConfig } from '../src/config.ts'
import { settings } from '../src/environment.ts'
import { registryAuth } from '../src/registry-auth.ts'
import { settingDefinitions } from '../src/settings/definitions.ts'
import { effectiveConfig, readSetting } from '../src/settings/effective.ts'
import { storedRegistryLogins } from '../src/settings/registries.ts'
import { admin, openTestApp } from './app-support.ts'

const base = readConfig({ STACKQUAY_HOME: '/home/stq', STACKQUAY_TRASH_DAYS: '5' })

describe('rules over values', () => {
  test('a key is the name of its variable in camel case', () => {
    for (const key of instanceSettingKeys) {
      const name = key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
      assert.equal(settingDefinitions[key].variable, `STACKQUAY_${name}`)
      assert.ok(settings[settingDefinitions[key].variable].description, key)
    }
  })

  test('what is shown of a setting is what can be set', () => {
    const set = readConfig({
      ...{ STACKQUAY_HOME: '/home/stq', STACKQUAY_LISTEN: '[::1]:9', STACKQUAY_SSH: 'off' },
      ...{ STACKQUAY_SHARE_SSH: 'ada@[fd00::1]:2222', STACKQUAY_TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8' },
      ...{ STACKQUAY_IMAGE_MAP: '{"docker.io/*": "mirror.test/*"}', STACKQUAY_ALLOWED_ROOTS: '/srv:/opt' },
      ...{ STACKQUAY_PUBLIC_URL: 'https://quay.example.org/', STACKQUAY_TERMINAL_IDLE_HOURS: '0.5' },
      ...{ STACKQUAY_AUDIT_MAX_DAYS: '90', STACKQUAY_AWAKE_MAX_MB: '512', STACKQUAY_SHARE_PROVIDERS: 'ssh' },
      ...{ STACKQUAY_BACKUP_CRON: '30 2 * * *', STACKQUAY_BACKUP_TARGETS: 'tgt_a, tgt_b' },
      ...{ STACKQUAY_LOG_EXPORT_URL: 'syslog+tls://logs.test', STACKQUAY_LOG_EXPORT_PROJECTS: 'shop, blog' },
      ...{ STACKQUAY_UPDATE_URL: 'https://forge.example.org/releases/latest' },
    })
    for (const key of instanceSettingKeys) {
      const { show } = settingDefinitions[key]
      const read = readSetting(key, show(set), set)
      assert.ok(read.ok, `${key}: ${JSON.stringify(read)}`)
      assert.deepEqual(show({ ...base, ...read.fields }), show(set), key)
    }
  })

  test('the environment wins over what is stored, which wins over the default', () => {
    const { config, ignored } = effectiveConfig(base, {
      trashDays: 7,
      logMaxMb: 3,
      logMaxDays: 2,
      baseDomain: 'dev.test',
    })
    assert.equal(config.trashDays, 5)
    assert.deepEqual(config.logs, { maxBytes: 3 * 1024 * 1024, maxDays: 2 })
    assert.equal(config.baseDomain, 'dev.test')
    assert.equal(config.runMaxMinutes, 60)
    assert.deepEqual(ignored, {})
  })

  test('the public address follows the listen address as long as none is set', () => {
    assert.equal(effectiveConfig(base, { listen: '127.0.0.1:9000' }).config.publicUrl, 'http://127.0.0.1:9000')
    const both = { publicUrl: 'https://quay.test', listen: '127.0.0.1:9000' }
    assert.equal(effectiveConfig(base, both).config.publicUrl, 'https://quay.test')
  })

  test('a stored value that is not valid any more is left out and told', () => {
    const { config, ignored } = effectiveConfig(base, { portRange: '5-4', logMaxDays: 3 })
    assert.deepEqual(config.portRange, { from: 20000, to: 20999 })
    assert.equal(config.logs.maxDays, 3)
    assert.match(ignored.portRange!, /1024-65535/)
  })

  test('lists have members of their own, and an empty list is a value', () => {
    const refused: readonly (readonly [InstanceSettingKey, string | number | string[]])[] = [
      ['allowedRoots', ['/srv:/etc']],
      ['imageMap', ['@/etc/passwd']],
      ['imageMap', ['a=b,c=d']],
      ['imageMap', ['postgres:18']],
      ['trustedProxies', ['10.0.0.5/8']],
      ['trustedProxies', 'all'],
      ['baseDomain', ['a.test']],
      ['baseDomain', ''],
      ['trashDays', 'soon'],
      ['trashDays', 1.5],
      ['logLevel', 'loud'],
      ['listen', '127.0.0.1'],
    ]
    for (const [key, value] of refused) assert.ok(!readSetting(key, value, base).ok, `${key} ${String(value)}`)
    assert.deepEqual(effectiveConfig(base, { allowedRoots: [] }).config.allowedRoots, ['/home/stq/projects'])
    assert.deepEqual(effectiveConfig(base, { trustedProxies: [] }).config.trustedProxies, [])
    assert.equal(effectiveConfig(base, { imageMap: ['redis:8=valkey:9'] }).config.imageOf('redis:8'), 'valkey:9')
  })
})

interface View {
  readonly items: readonly { key: string; value: unknown; source: string; pending: boolean; ignored: string | null }[]
  readonly registries: readonly unknown[]
}

async function opened(t: Parameters<typeof openTestApp>[0], env: Record<string, string> = {}) {
  const app = await openTestApp(t, { env })
  const session = await app.session()
  const patch = (body: object, headers: Record<string, string> = session) =>
    app.call('updateSettings', { body, headers })
  const view = async () => (await app.call('getSettings', { headers: session })).json as View
  const setting = async (key: InstanceSettingKey) => (await view()).items.find((item) => item.key === key)!
  return { ...app, session: () => session, patch, view, setting }
}

test('what needs no restart holds at once, is audited with before and after, and null returns to the default', async (t) => {
  const { app, patch, setting, call, session } = await opened(t)
  const changed = await patch({ settings: { trashDays: 3, runMaxMinutes: 5, logLevel: 'warn', sessionMaxDays: 2 } })
  assert.equal(changed.status, 200, changed.body)
  assert.equal(app.config.trashDays, 3)
  assert.deepEqual(await setting('trashDays').then(({ value, source, pending }) => ({ value, source, pending })), {
    value: 3,
    source: 'stored',
    pending: false,
  })
  const login = await call('login', { body: admin })
  assert.match(String(login.headers['set-cookie']), /Max-Age=172800/)
  assert.equal((await patch({ settings: { trashDays: null, logLevel: null } })).status, 200)
  assert.equal(app.config.trashDays, 30)
  const audit = (await call('listAudit', { headers: session(), query: { action: 'settings.update' } })).json
  assert.deepEqual(audit.items[0].changes, {
    before: { trashDays: 3, logLevel: 'warn' },
    after: { trashDays: null, logLevel: null },
  })
})

test('a new project begins with the schedule of backups that the settings say', async (t) => {
  const { patch, call, session, setting } = await opened(t)
  const headers = session()
  for (const wrong of [
    { backupCron: '99 * * * *' },
    { backupTimezone: 'Mars/Olympus' },
    { backupTargets: ['tgt_none'] },
  ])
    assert.equal((await patch({ settings: wrong })).status, 422, JSON.stringify(wrong))
  assert.equal((await setting('backupCron')).value, null)
  const create = (name: string) => call('createProject', { headers, body: { name, start: false } })
  assert.equal((await create('Before')).status, 201)
  assert.equal((await patch({ settings: { backupCron: '30 2 * * *', backupTimezone: 'Europe/Berlin' } })).status, 200)
  assert.equal((await create('After')).status, 201)
  const scheduleOf = async (id: string) => {
    const { json } = await call('getBackupSchedule', { headers, params: { id } })
    return json.schedule as { cron: string; timezone: string; keep: { last: number } } | null
  }
  assert.equal(await scheduleOf('before'), null)
  const { cron, timezone, keep } = (await scheduleOf('after'))!
  assert.deepEqual([cron, timezone, keep.last], ['30 2 * * *', 'Europe/Berlin', 7])
})

test('a change that needs a restart waits for it, and the next start has it', async (t) => {
  const { home, app, patch, setting } = await opened(t)
  const changed = await patch({
    settings: { engine: 'native', publicUrl: 'https://quay.test/' },
    password: admin.password,
  })
  assert.equal(changed.status, 200, changed.body)
  assert.equal(app.config.publicUrl, 'http://127.0.0.1:1')
  assert.equal((await setting('publicUrl')).pending, true)
  assert.equal((await setting('engine')).pending, true)
  await app.close()
  const { app: again } = await openTestApp(t, { env: { STACKQUAY_HOME: home } })
  assert.equal(again.config.publicUrl, 'https://quay.test')
  assert.equal(again.config.engine, 'native')
})

test('the environment is shown as such, and a change of it is refused by its name', async (t) => {
  const { patch, setting, app } = await opened(t, { STACKQUAY_BASE_DOMAIN: 'env.test' })
  assert.equal((await setting('baseDomain')).source, 'environment')
  const refused = await patch({ settings: { baseDomain: 'other.test', trashDays: 2 } })
  assert.equal(refused.status, 409)
  assert.equal(refused.json.code, 'setting_external')
  assert.match(refused.json.detail, /STACKQUAY_BASE_DOMAIN/)
  assert.deepEqual(
    refused.json.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/settings/baseDomain'],
  )
  assert.equal(app.config.trashDays, 30, 'nothing was changed')
})

test('all faults are told at once, before anything is changed', async (t) => {
  const { app, home, patch, session, call } = await opened(t, { STACKQUAY_LISTEN: '', STACKQUAY_SSH: '' })
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  t.after(() => holder.close())
  const { port } = holder.address() as AddressInfo
  await mkdir(join(home, 'inner'))
  const made = await call('createProject', {
    headers: session(),
    query: { wait: '10' },
    body: { name: 'Shop' },
  })
  assert.equal(made.status, 201, made.body)
  const id = made.json.id
  const domain = await call('addDomain', { headers: session(), params: { id }, body: { host: 'a.corp.test' } })
  assert.equal(domain.status, 201, domain.body)
  await app.store.transaction((tx) => tx.ports.lease(id, 'web', 'http', [20005]))
  const refused = await patch({
    password: admin.password,
    settings: {
      ...{ baseDomain: 'corp.test', trustedProxies: ['0.0.0.0/0'], portRange: '30000-30010', ssh: `127.0.0.1:${port}` },
      ...{ allowedRoots: ['/does/not/exist', join(home, 'inner'), '/'], imageMap: ['x'], trashDays: 2, logMaxDays: 0 },
      listen: '203.0.113.1:9009',
    },
    registries: { 'https://ghcr.io/x': { username: 'a', password: 'b' } },
  })
  assert.equal(refused.status, 422, refused.body)
  const pointers = refused.json.errors.map((error: { pointer: string }) => error.pointer)
  assert.deepEqual(pointers, [
    ...['/settings/baseDomain', '/settings/trustedProxies', '/settings/portRange', '/settings/ssh'],
    ...['/settings/allowedRoots', '/settings/allowedRoots', '/settings/allowedRoots', '/settings/imageMap'],
    ...['/settings/logMaxDays', '/settings/listen', '/registries/https:~1~1ghcr.io~1x'],
  ])
  assert.match(refused.json.detail, /a\.corp\.test.*20005.*is used by another program/s)
  assert.equal(app.config.trashDays, 30)
  const unknown = await patch({ settings: { trashDay: 2 } })
  assert.equal(unknown.status, 422)
  assert.match(unknown.body, /trashDay/)
})

test('what lets the world in takes a session and the password again', async (t) => {
  const { app, patch, session, call } = await opened(t)
  const { value } = (await call('createToken', { headers: session(), body: { name: 'ci', scope: 'admin' } })).json
  const bearer = { authorization: `Bearer ${value}` }
  const change = { settings: { trustedProxies: ['10.1.0.0/16'] } }
  assert.equal((await patch(change, bearer)).json.code, 'session_required')
  assert.equal((await patch({ settings: { trashDays: 9 } }, bearer)).status, 200)
  const without = await patch(change)
  assert.deepEqual([without.status, without.json.errors[0].pointer], [422, '/password'])
  assert.equal((await patch({ ...change, password: 'not it at all' })).json.code, 'login_failed')
  assert.deepEqual(app.config.trustedProxies, [])
  assert.equal((await patch({ ...change, password: admin.password })).status, 200)
  assert.deepEqual(app.config.trustedProxies, ['10.1.0.0/16'])
  const audit = (await call('listAudit', { headers: session(), query: { action: 'settings.update' } })).json.items
  assert.deepEqual(
    audit.map(({ outcome }: { outcome: string }) => outcome),
    ['success', 'denied', 'success', 'denied'],
  )
  // The same value again is no change.
  assert.equal((await patch(change, bearer)).status, 200)
})

test('a trusted proxy is believed from the next request on', async (t) => {
  const { patch, call, session } = await opened(t)
  const forwarded = { 'x-forwarded-for': '192.0.2.7' }
  await call('login', { body: admin, headers: forwarded })
  assert.equal((await patch({ settings: { trustedProxies: ['127.0.0.1'] }, password: admin.password })).status, 200)
  await call('login', { body: admin, headers: forwarded })
  const { items } = (await call('listAudit', { headers: session(), query: { action: 'auth.login' } })).json
  assert.deepEqual(
    items.slice(0, 2).map(({ ip }: { ip: string }) => ip),
    ['192.0.2.7', '127.0.0.1'],
  )
})

test('logins of registries are sealed, never answered, survive another key, and the file wins', async (t) => {
  const { app, patch, view, call, session, home } = await opened(t)
  const made = await patch({ registries: { 'ghcr.io': { username: 'ada', password: 'of the registry' } } })
  assert.equal(made.status, 200, made.body)
  assert.deepEqual((await view()).registries, [{ host: 'ghcr.io', username: 'ada' }])
  assert.ok(!made.body.includes('of the registry'))
  const audit = await call('listAudit', { headers: session(), query: { action: 'settings.update' } })
  assert.ok(!audit.body.includes('of the registry'))
  assert.deepEqual(audit.json.items[0].changes.after.registries['ghcr.io'], { username: 'ada', password: '[secret]' })

  const replaced = await call('replaceSecretKey', { headers: session(), body: { password: admin.password } })
  assert.deepEqual([replaced.status, replaced.json.unreadable], [200, 0])
  const logins = registryAuth(null, storedRegistryLogins(app.store))
  assert.deepEqual(await logins('ghcr.io'), { username: 'ada', password: 'of the registry' })
  assert.equal(await logins('quay.io'), null)
  assert.equal(await logins('constructor'), null)

  const file = join(home, 'auth.json')
  await writeFile(file, JSON.stringify({ auths: { 'ghcr.io': { username: 'file', password: 'wins' } } }), {
    mode: 0o600,
  })
  assert.equal((await registryAuth(file, storedRegistryLogins(app.store))('ghcr.io'))?.username, 'file')

  assert.equal((await patch({ registries: { 'ghcr.io': null } })).status, 200)
  assert.equal(await logins('ghcr.io'), null)
  assert.deepEqual(await app.store.secrets.ofInstance('registry/'), {})
})

test('a stored value of another version stops nothing, and diagnostics tell it', async (t) => {
  const { app, home, patch } = await opened(t)
  assert.equal((await patch({ settings: { logMaxDays: 3 } })).status, 200)
  await app.store.transaction((tx) => tx.settings.set('instance.settings', { logMaxDays: 3, portRange: 'all of them' }))
  await app.close()
  const again = await openTestApp(t, { env: { STACKQUAY_HOME: home } })
  const session = await again.session()
  assert.equal(again.app.config.logs.maxDays, 3)
  assert.deepEqual(again.app.config.portRange, { from: 20000, to: 20999 })
  const { checks } = (await again.call('getDiagnostics', { headers: session })).json
  const check = checks.find(({ id }: { id: string }) => id === 'settings')
  assert.equal(check.status, 'warning')
  assert.match(check.detail, /portRange/)
})

test('two changes at the same time both stay', async (t) => {
  const { patch, app } = await opened(t)
  const keys = ['trashDays', 'logMaxDays', 'runMaxMinutes', 'sessionMaxDays', 'logMaxMb'] as const
  const answers = await Promise.all(keys.map((key) => patch({ settings: { [key]: 9 } })))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  )
  assert.deepEqual(await app.store.settings.get('instance.settings'), Object.fromEntries(keys.map((key) => [key, 9])))
})
