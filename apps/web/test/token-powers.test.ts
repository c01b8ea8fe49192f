import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '@stackquay/contract'
import { type PowerId, powers, powersOf } from '../src/lib/token-powers.ts'
import { en } from '../src/texts/en.ts'

const entries = Object.entries(powers) as [PowerId, (typeof powers)[PowerId]][]

test('what a token is said to be able to do is what the operations declare', () => {
  for (const [id, power] of entries) {
    for (const name of power.operations) {
      const { access } = operations[name]
      assert.ok(access.kind === 'scope', name)
      assert.equal(access.scope, power.scope, `${id}: ${name}`)
      assert.equal('instance' in access || 'unrestricted' in access, power.unrestricted, `${id}: ${name}`)
      assert.ok(!('session' in access), `${id}: ${name} needs a session`)
    }
  }
})

test('no operation that a token may use is left unsaid', () => {
  const said = new Set<string>(entries.flatMap(([, { operations }]) => operations))
  const forTokens = Object.values(operations).filter(({ access }) => access.kind === 'scope' && !('session' in access))
  assert.deepEqual(
    forTokens.map(({ id }) => id).filter((id) => !said.has(id)),
    [],
  )
})

test('a token for chosen projects never creates projects or reads the audit log, and each power has words', () => {
  assert.deepEqual(powersOf('admin', true).mayNot, ['monitor', 'create', 'oversee', 'tidy', 'archive', 'notify'])
  assert.deepEqual(powersOf('admin', false).mayNot, [])
  assert.deepEqual(powersOf('read', false).may, ['see', 'logs', 'monitor'])
  for (const [id] of entries) assert.ok(en.tokens.powers[id].length > 5)
})
