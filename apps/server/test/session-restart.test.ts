import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createFakeEngine } from '@stackquay/engine-api/fake-engine'
import { pino } from 'pino'
import { createApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { admin } from './app-support.ts'

test('sessions outlive a restart at the same address, and end at a start under another', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-origin-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  let headers: Record<string, string> = {}
  const said: string[] = []
  const at = async (listen: string, logsIn = false) => {
    const app = await createApp({
      config: readConfig({
        STACKQUAY_HOME: home,
        STACKQUAY_LISTEN: listen,
        STACKQUAY_PROXY_HTTP: 'off',
        STACKQUAY_SSH: 'off',
        STACKQUAY_RUN_AS: '65534:65534',
        STACKQUAY_ADMIN_USER: admin.username,
        STACKQUAY_ADMIN_PASSWORD: admin.password,
      }),
      log: pino({ level: 'silent' }),
      say: (text) => said.push(text),
      engine: createFakeEngine({}),
    })
    try {
      await app.ready
      if (logsIn) {
        const answer = await app.http.inject({ method: 'POST', url: '/api/v1/auth/login', payload: admin })
        const cookie = String(answer.headers['set-cookie']).split(';')[0]!
        headers = { cookie, 'x-csrf-token': answer.json().csrfToken }
      }
      return (await app.http.inject({ url: '/api/v1/auth/me', headers })).statusCode
    } finally {
      await app.close()
    }
  }
  assert.equal(await at('127.0.0.1:8700', true), 200)
  assert.equal(await at('127.0.0.1:8700'), 200)
  assert.equal(await at('127.0.0.1:8701'), 401)
  assert.match(
    said.join('\n'),
    /The address of the service is another than before, so all browser sessions ended \(1\)\./,
  )
  assert.equal(await at('127.0.0.1:8700'), 401)
})
