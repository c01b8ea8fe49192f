import assert from 'node:assert/strict'
import { test } from 'node:test'
import { credentialRows } from '../src/lib/credentials.ts'

test('a secret is hidden, also where it stands inside of a URL, plain or encoded', () => {
  const rows = credentialRows({
    url: 'db://main:p%40ss%2Fw0rd@127.0.0.1:20001/main',
    other: 'p@ss/w0rd and more',
    port: 20_001,
    username: 'main',
    password: 'p@ss/w0rd',
    apiKey: null,
  })
  assert.deepEqual(
    rows.map(({ name, hidden }) => [name, hidden]),
    [
      ['url', 'db://main:••••••••@127.0.0.1:20001/main'],
      ['other', '•••••••• and more'],
      ['port', null],
      ['username', null],
      ['password', '••••••••'],
      ['apiKey', null],
    ],
  )
  assert.equal(rows[5]?.value, null)
  assert.equal(rows[2]?.value, '20001')
  assert.equal(rows[4]?.value, 'p@ss/w0rd')
})

test('no part of any secret is left in what is shown before it is asked for', () => {
  const rows = credentialRows({ secretKey: 'abcdef', apiToken: 'abc', note: 'abcdef abc' })
  for (const { hidden } of rows) assert.ok(hidden !== null && !hidden.includes('abc'))
})
