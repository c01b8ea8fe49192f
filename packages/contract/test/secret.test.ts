import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format, inspect } from 'node:util'
import { Secret } from '../src/secret.ts'

test('a secret is not shown by anything that prints or serialises it', () => {
  const secret = new Secret('open sesame')
  const shown = [
    String(secret),
    `${secret}`,
    JSON.stringify({ secret }),
    JSON.stringify([secret]),
    inspect(secret, { showHidden: true, depth: 9 }),
    format('%s %o %j', secret, secret, secret),
    JSON.stringify(structuredClone(Object.assign({}, secret))),
    Object.values(secret).join(),
  ].join('\n')
  assert.doesNotMatch(shown, /sesame/)
  assert.match(shown, /\[secret\]/)
})

test('a secret tells its text when it is asked to, and whether it is the same as another', () => {
  const secret = new Secret('open sesame')
  assert.equal(secret.expose(), 'open sesame')
  assert.ok(secret.equals(new Secret('open sesame')))
  assert.ok(!secret.equals(new Secret('open')))
})
