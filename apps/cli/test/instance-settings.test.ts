import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InstanceSetting } from '@stackquay/contract'
import { stq } from './run-stq.ts'
import { standIn } from './stand-in.ts'

const usual = {
  choices: null,
  description: 'What it means.',
  restart: false,
  pending: false,
  passwordAgain: false,
  ignored: null,
}
const items: InstanceSetting[] = [
  { ...usual, key: 'trashDays', value: 7, default: 30, source: 'stored', variable: 'STACKQUAY_TRASH_DAYS' },
  { ...usual, key: 'imageMap', value: [], default: [], source: 'default', variable: 'STACKQUAY_IMAGE_MAP' },
  {
    ...usual,
    key: 'baseDomain',
    value: 'a\x1b[2J',
    default: 'localhost',
    source: 'environment',
    variable: 'STACKQUAY_BASE_DOMAIN',
  },
  {
    ...usual,
    key: 'publicUrl',
    value: 'https://a.test',
    default: null,
    source: 'stored',
    pending: true,
    variable: 'STACKQUAY_PUBLIC_URL',
  },
]

test('against a stand-in: settings of the instance are listed, shown, set by their kind, and unset', async () => {
  const sent: unknown[] = []
  const registries = [{ host: 'ghcr.io', username: 'ada' }]
  await using service = await standIn({
    'GET /settings': () => ({ items, registries }),
    'PATCH /settings': ({ body }) => {
      sent.push(body)
      return { items, registries }
    },
  })
  const run = (...args: string[]) => stq(['instance', ...args], { url: service.url })
  const { stdout } = await run('settings')
  assert.match(stdout, /^SETTING +FROM +VALUE\ntrashDays +stored +7\nimageMap +default +none\n/)
  assert.match(stdout, /STACKQUAY_BASE_DOMAIN/)
  assert.match(stdout, /publicUrl +stored, waits for a restart +https:\/\/a\.test/)
  assert.ok(!stdout.includes('\x1b[2J'))
  assert.match((await run('settings', 'get', 'trashDays')).stdout, /value +7\ndefault +30/)
  assert.equal((await run('settings', 'get', 'trashDays', '--quiet')).stdout, '7\n')
  const unknown = await run('settings', 'get', 'trashDay')
  assert.notEqual(unknown.code, 0)
  assert.match(unknown.stderr, /trashDays/)
  for (const args of [
    ['set', 'trashDays', '14'],
    ['set', 'imageMap', 'a=b', 'c=d'],
    ['set', 'publicUrl', 'https://b.test'],
    ['unset', 'trashDays'],
  ])
    assert.equal((await run('settings', ...args)).code, 0, args.join(' '))
  assert.equal((await run('settings', 'set', 'trashDays', '1', '2')).code, 2)
  assert.match((await run('registries')).stdout, /^HOST +USERNAME\nghcr\.io +ada\n/)
  assert.equal(
    (await stq(['instance', 'registries', 'set', 'quay.io', 'ada'], { url: service.url, input: 'of the registry\n' }))
      .code,
    0,
  )
  assert.equal((await run('registries', 'remove', 'ghcr.io')).code, 0)
  assert.deepEqual(sent, [
    { settings: { trashDays: 14 } },
    { settings: { imageMap: ['a=b', 'c=d'] } },
    { settings: { publicUrl: 'https://b.test' } },
    { settings: { trashDays: null } },
    { registries: { 'quay.io': { username: 'ada', password: 'of the registry' } } },
    { registries: { 'ghcr.io': null } },
  ])
})
