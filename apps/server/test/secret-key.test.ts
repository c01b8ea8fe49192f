import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openStore } from '@stackquay/store'
import { keyPlace, sealingKeyOf } from '../src/sealing-key.ts'
import { admin, openTestApp } from './app-support.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'stackquay-key-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

test('the key is named, shown and replaced to an admin who says the password again', async (t) => {
  const { call, session, home, app } = await openTestApp(t)
  const headers = await session()
  const body = { password: admin.password }
  const before = (await call('getSecretKey', { headers })).json
  assert.equal(before.source, 'file')
  const shown = await call('revealSecretKey', { headers, body })
  assert.equal(shown.status, 200, shown.body)
  assert.equal(`${shown.json.key}\n`, readFileSync(join(home, 'secret.key'), 'utf8'))
  assert.equal(shown.json.id, before.id)

  const replaced = await call('replaceSecretKey', { headers, body })
  assert.equal(replaced.status, 200, replaced.body)
  assert.equal(replaced.json.previousId, before.id)
  assert.notEqual(replaced.json.id, before.id)
  assert.notEqual(`${shown.json.key}\n`, readFileSync(join(home, 'secret.key'), 'utf8'))
  assert.equal(statSync(join(home, 'secret.key')).mode & 0o777, 0o600)
  assert.equal(existsSync(join(home, 'secret.key.next')), false)
  assert.equal((await call('revealSecretKey', { headers, body })).json.id, replaced.json.id)
  assert.equal((await app.store.audit.verify()).ok, true)
  assert.ok(!JSON.stringify(await app.store.audit.list({ limit: 50 })).includes(shown.json.key))
})

test('a given key is taken; one that is no key, or the one in use, is refused', async (t) => {
  const { call, session } = await openTestApp(t)
  const headers = await session()
  const replace = (key: string) => call('replaceSecretKey', { headers, body: { password: admin.password, key } })
  const next = randomBytes(32)
  assert.equal((await replace('too short')).json.errors[0].pointer, '/key')
  assert.equal((await replace(next.toString('hex'))).json.id, sealingKeyOf(next).id)
  const same = await replace(next.toString('base64'))
  assert.deepEqual([same.status, same.json.errors[0].code], [422, 'same_key'])
  const shown = await call('revealSecretKey', { headers, body: { password: admin.password } })
  assert.equal(shown.json.key, next.toString('base64'))
})

test('wrong passwords are recorded', async (t) => {
  const { call, session, app } = await openTestApp(t)
  const headers = await session()
  const wrong = { headers, body: { password: 'wrong password' } }
  assert.equal((await call('revealSecretKey', wrong)).json.code, 'login_failed')
  assert.equal((await call('replaceSecretKey', wrong)).json.code, 'login_failed')
  const entries = await app.store.audit.list({ limit: 5, outcome: 'denied' })
  assert.deepEqual(
    entries.map(({ action, actor }) => `${actor} ${action}`),
    ['ada secret_key.replace', 'ada secret_key.reveal'],
  )
})

test('a key from the environment is shown, and replaced where it is kept', async (t) => {
  const key = randomBytes(32)
  const { call, session, home } = await openTestApp(t, { env: { STACKQUAY_SECRET_KEY: key.toString('hex') } })
  const headers = await session()
  const body = { password: admin.password }
  assert.equal((await call('getSecretKey', { headers })).json.source, 'environment')
  assert.equal((await call('revealSecretKey', { headers, body })).json.key, key.toString('base64'))
  const refused = await call('replaceSecretKey', { headers, body })
  assert.deepEqual([refused.status, refused.json.code], [409, 'secret_key_external'])
  assert.match(refused.json.hint, /secret\.key/)
  assert.equal(existsSync(join(home, 'secret.key')), false)
})

test('ended at any step of a replacement, the next start finds the key it needs and tidies up', async (t) => {
  for (const cut of ['while it is written', 'before the commit', 'after the commit', 'nowhere'] as const) {
    const home = folder(t)
    const open = async () => {
      const keys = keyPlace(home, null)
      const store = await openStore({
        file: join(home, 'stackquay.db'),
        checkpointFile: join(home, 'audit.checkpoint'),
        ...keys.candidates,
        clock: { now: () => new Date() },
      })
      return { keys, store }
    }
    const first = await open()
    first.keys.settle(first.store.sealing.keyId())
    const old = first.store.sealing.keyId()
    const { secret } = await first.store.transaction((tx) => tx.secrets.put(null, 'name', 'open sesame'))
    const next = sealingKeyOf(randomBytes(32))
    if (cut === 'while it is written') writeFileSync(join(home, 'secret.key.next.writing'), 'ha')
    else first.keys.putNext(next)
    if (cut === 'after the commit' || cut === 'nowhere') await first.store.replaceKey(next, async () => {})
    if (cut === 'nowhere') first.keys.settle(next.id)
    await first.store.close()

    const again = await open()
    again.keys.settle(again.store.sealing.keyId())
    const expected = cut === 'after the commit' || cut === 'nowhere' ? next.id : old
    assert.equal(again.store.sealing.keyId(), expected, cut)
    assert.equal(again.keys.find(expected)?.id, expected)
    assert.equal((await again.store.secrets.reveal(secret)).expose(), 'open sesame')
    assert.equal((await again.store.audit.verify()).ok, true)
    await again.store.close()
    assert.equal(existsSync(join(home, 'secret.key.next')), false, cut)
    assert.equal(existsSync(join(home, 'secret.key.next.writing')), false, cut)

    const last = await open()
    assert.equal((await last.store.secrets.reveal(secret)).expose(), 'open sesame', cut)
    await last.store.close()
  }
})

test('a database whose key is missing is not given a new one', async (t) => {
  const home = folder(t)
  writeFileSync(join(home, 'stackquay.db'), 'something')
  assert.throws(() => keyPlace(home, null), /The key that seals the secrets is missing: .*secret\.key is not there/)
  assert.equal(existsSync(join(home, 'secret.key')), false)
})

test('a wrong key is refused at the start by its id', async (t) => {
  const home = folder(t)
  const { candidates } = keyPlace(home, null)
  const file = join(home, 'stackquay.db')
  const clock = { now: () => new Date() }
  await (await openStore({ file, ...candidates, clock })).close()
  const other = keyPlace(home, randomBytes(32)).candidates
  await assert.rejects(openStore({ file, ...other, clock }), (error: Error) => {
    assert.ok(error.message.includes(candidates.sealingKey.id) && error.message.includes(other.sealingKey.id))
    return true
  })
})
