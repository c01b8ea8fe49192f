import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visibleText } from '@stackquay/contract'
import { newId } from '@stackquay/store'
import { testCaseView } from '../src/runs/run-view.ts'
import { openTestApp } from './app-support.ts'
import { auditOf, bearer, openTestHttpApp } from './http-support.ts'

/** One of each sort that cannot be seen, and what makes it dangerous. */
const hostile: Readonly<Record<string, string>> = {
  'turns the text behind it around': 'shop\u202egnp',
  'isolates a direction': 'a\u2066b',
  'has no width': 'sh\u200bop',
  'joins without width': 'sh\u200dop',
  'is a byte order mark inside': 'sh\ufeffop',
  'moves the cursor': 'sh\u001b[2Jop',
  'breaks the line': 'shop\nroot',
  'breaks the line in Unicode': 'shop\u2028root',
  'is private': 'sh\ue000op',
  'is half a character': 'sh\ud800op',
  'fills a place in Hangul': 'sh\u3164op',
  'is a tag': 'shop\u{e0041}',
  'is a soft hyphen': 'sh\u00adop',
}

test('nobody names a project, token or webhook with characters that cannot be seen', async (t) => {
  const { call, session } = await openTestApp(t)
  const headers = await session()
  const wait = { wait: '10' }
  await call('createProject', { body: { name: 'Shop' }, query: wait, headers })
  const hook = { url: 'https://example.org/', events: ['run.changed'] }
  const { json: kept } = await call('createWebhook', { body: { ...hook, name: 'ci' }, headers })
  for (const [why, name] of Object.entries(hostile)) {
    const answers = [
      await call('createProject', { body: { name }, headers }),
      await call('updateProject', { params: { id: 'shop' }, body: { name }, headers }),
      await call('duplicateProject', { params: { id: 'shop' }, body: { name }, headers }),
      await call('createToken', { body: { name }, headers }),
      await call('createWebhook', { body: { ...hook, name }, headers }),
      await call('updateWebhook', { params: { hook: kept.id }, body: { name }, headers }),
    ]
    for (const { status, json, body } of answers) {
      assert.equal(status, 422, `${why}: ${body}`)
      assert.equal(json.errors[0].code, 'invisible_character', body)
      assert.match(json.errors[0].detail, /^Holds the character U\+[0-9A-F]{4,6}, which cannot be seen; remove it\.$/)
    }
    assert.equal(
      (await call('createUser', { body: { username: name, role: 'read', password: 'x'.repeat(12) }, headers })).status,
      422,
    )
  }
  const { json } = await call('getProject', { params: { id: 'shop' }, headers })
  assert.equal(json.name, 'Shop')
})

test('names are kept composed and without blanks around them, and every script can be written', async (t) => {
  const { call, session } = await openTestApp(t)
  const headers = await session()
  const named = async (name: string) => (await call('createToken', { body: { name }, headers })).json.name
  assert.equal(await named('  Cafe\u0301 \u3000'), 'Café')
  for (const name of ['مشروع', 'プロジェクト', 'проект', 'शॉप', '❤\ufe0f shop']) assert.equal(await named(name), name)
  assert.equal((await call('createToken', { body: { name: 'Caf\u00e9' }, headers })).status, 409, 'one name, not two')
})

test('no token passes for another in the audit log', async (t) => {
  const { call, session, app } = await openTestApp(t)
  const headers = await session()
  for (const name of ['ci) root (token: ops', '（token: ci）', 'ci\ufe5a']) {
    const { status, json } = await call('createToken', { body: { name }, headers })
    assert.deepEqual([status, json.errors[0].code], [422, 'parenthesis'], name)
    assert.match(json.errors[0].detail, /leave parentheses out/)
  }
  for (const username of ['system', 'anonymous', 'host', 'ada (token: ci)']) {
    const body = { username, role: 'admin', password: 'long enough to be' }
    assert.equal((await call('createUser', { body, headers })).status, 422, username)
  }
  assert.deepEqual(
    (await app.store.users.list()).map(({ username }) => username),
    ['ada'],
  )
})

test('tokens of before with such names stay, and are shown and recorded with their characters written out', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token({ name: 'ci\u202e) root (x' })
  const headers = bearer(value)
  const me = await http.app.inject({ url: '/api/v1/auth/me', headers })
  assert.equal(me.json().name, 'ci\\u{202e}) root (x')
  await http.project('shop')
  await http.app.inject({ method: 'POST', url: '/api/v1/tokens', headers, payload: { name: 'x' } })
  const [entry] = await auditOf(http.store, 'denied', 1)
  assert.equal(entry?.actor, 'ada (token: ci\\u{202e}\\u{29} root \\u{28}x)')
})

test('a name that somebody tried to log in with cannot rewrite the audit log', async (t) => {
  const http = await openTestHttpApp(t)
  const payload = { username: 'eve\u202e\u001b[1A', password: 'wrong password' }
  await http.app.inject({ method: 'POST', url: '/api/v1/auth/login', payload })
  const [entry] = await auditOf(http.store, 'denied', 1)
  assert.equal(entry?.target, 'eve\\u{202e}\\u{1b}[1A')
})

test('what sources name is shown with its invisible characters written out', () => {
  const row = { name: 'adds\u202e two', group: 'sums\u200b', file: 'a\nb.test.js' }
  const shown = testCaseView({ ...row, id: newId('tc') } as never)
  assert.deepEqual([shown.name, shown.group, shown.file], ['adds\\u{202e} two', 'sums\\u{200b}', 'a\\u{a}b.test.js'])
  for (const name of Object.values(hostile)) assert.match(visibleText(name), /^[\x20-\x7e]+$/)
  assert.equal(visibleText('Café ❤\ufe0f'), 'Café ❤\ufe0f')
})
