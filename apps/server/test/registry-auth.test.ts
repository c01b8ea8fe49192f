import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { EngineError } from '@stackquay/engine-api'
import { registryAuth, registryAuthFault } from '../src/registry-auth.ts'

function configFile(t: TestContext, content: unknown, mode = 0o600) {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-registry-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'config.json')
  const write = (next: unknown) => {
    // As tools do that change it for good: a new file takes the place of the old one.
    writeFileSync(`${file}.new`, typeof next === 'string' ? next : JSON.stringify(next))
    chmodSync(`${file}.new`, mode)
    renameSync(`${file}.new`, file)
  }
  write(content)
  return { file, write, ask: registryAuth(file) }
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

async function refusal(act: Promise<unknown>): Promise<EngineError> {
  const error = await act.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof EngineError, String(error))
  assert.equal(error.code, 'image_unavailable')
  assert.ok(error.hint.length > 5)
  assert.ok(!error.message.includes('sesame') && !error.hint.includes('sesame'), error.message)
  return error
}

test('without a file, and for a registry that it does not name, nobody asks with credentials', async (t) => {
  assert.equal(await registryAuth(null)('registry.test'), null)
  const { ask } = configFile(t, { auths: { 'other.test': { auth: base64('a:b') } }, credsStore: 'desktop' })
  assert.equal(await ask('registry.test'), null)
  assert.equal(await configFile(t, {}).ask('registry.test'), null)
})

test('credentials stand there as a pair, coded, or as a token', async (t) => {
  const { ask } = configFile(t, {
    auths: {
      'pair.test': { username: 'ada', password: 'sesame' },
      'https://coded.test:5000/v2/': { auth: base64('ada:ses:ame') },
      'token.test': { auth: base64('<token>:'), identitytoken: 'sesame' },
      'bare.test': { identitytoken: 'sesame' },
      'https://index.docker.io/v1/': { auth: base64('hub:sesame') },
    },
  })
  assert.deepEqual(await ask('pair.test'), { username: 'ada', password: 'sesame' })
  assert.deepEqual(await ask('coded.test:5000'), { username: 'ada', password: 'ses:ame' })
  assert.deepEqual(await ask('token.test'), { username: '<token>', password: '', identitytoken: 'sesame' })
  assert.deepEqual(await ask('bare.test'), { username: '<token>', password: '', identitytoken: 'sesame' })
  assert.deepEqual(await ask('docker.io'), { username: 'hub', password: 'sesame' })
  assert.equal(await ask('coded.test'), null)
})

test('the file is read at each question', async (t) => {
  const { ask, write } = configFile(t, { auths: { 'a.test': { auth: base64('ada:old') } } })
  assert.equal((await ask('a.test'))?.password, 'old')
  write({ auths: { 'a.test': { auth: base64('ada:new') } } })
  assert.equal((await ask('a.test'))?.password, 'new')
})

test('a file that others can read is refused, with the command that mends it', async (t) => {
  for (const mode of [0o644, 0o604, 0o620]) {
    const { file, ask } = configFile(t, { auths: { 'a.test': { auth: base64('ada:sesame') } } }, mode)
    const error = await refusal(ask('a.test'))
    assert.match(error.message, /read or changed by others/)
    assert.equal(error.hint, `Run: chmod 600 ${file}`)
    assert.equal((await registryAuthFault(file))?.message, error.message)
  }
  const shared = configFile(t, { auths: { 'a.test': { auth: base64('ada:ok') } } }, 0o640)
  assert.equal((await shared.ask('a.test'))?.password, 'ok')
  assert.equal(await registryAuthFault(shared.file), null)
  assert.equal(await registryAuthFault(null), null)
})

test('a file that is missing or broken is told without a word of what is in it', async (t) => {
  const { file, ask, write } = configFile(t, '{"auths": {"a.test": {"password": "sesame"')
  assert.match((await refusal(ask('a.test'))).message, /is not a JSON object/)
  write('"sesame"')
  assert.match((await refusal(ask('a.test'))).message, /is not a JSON object/)
  write({ auths: { 'a.test': { username: 'ada', secret: 'sesame' } } })
  assert.match((await refusal(ask('a.test'))).message, /holds no user name and password for a\.test/)
  rmSync(file)
  assert.match((await refusal(ask('a.test'))).message, /cannot be read \(ENOENT\)/)
})

test('credential helpers are refused, since they are programs that nobody named', async (t) => {
  const { ask } = configFile(t, {
    auths: { 'kept.test': {}, 'here.test': { auth: base64('ada:ok') } },
    credsStore: 'desktop',
    credHelpers: { 'cloud.test': 'cloud-login' },
  })
  assert.match((await refusal(ask('kept.test'))).message, /with the helper "desktop", which the service does not run/)
  assert.match((await refusal(ask('cloud.test'))).message, /with the helper "cloud-login"/)
  assert.equal((await ask('here.test'))?.password, 'ok')
})
