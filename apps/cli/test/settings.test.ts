import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { World } from '../src/context.ts'
import { CliError } from '../src/errors.ts'
import { nearest } from '../src/nearest.ts'
import { styleOf } from '../src/output/style.ts'
import { readSettings, typedSetting } from '../src/settings/read-settings.ts'
import { settingsOf } from '../src/settings/settings.ts'
import { settingsText } from '../src/settings/settings-text.ts'
import { teapotSchema } from './catalogue.ts'

const settings = settingsOf(teapotSchema)

function read(args: readonly string[], input = ''): Promise<unknown> {
  const stdin = Object.assign(new PassThrough(), { isTTY: false })
  stdin.end(input)
  const world = { stdin, stderr: { isTTY: false } } as unknown as World
  // Through JSON, as it is sent.
  return readSettings('teapot', settings, args.map(typedSetting), world).then((patch) =>
    JSON.parse(JSON.stringify(patch)),
  )
}

for (const [argument, expected] of [
  ['enabled=false', { enabled: false }],
  ['degrees=60', { degrees: 60 }],
  ['strength=0.5', { strength: 0.5 }],
  ['leaf=green', { leaf: 'green' }],
  ['version=8', { version: '8' }],
  ['note=a=b "c" $d', { note: 'a=b "c" $d' }],
  ['note=', { note: '' }],
  ['note=null', { note: null }],
  ['guests=ada,bob', { guests: ['ada', 'bob'] }],
  ['guests=', { guests: [] }],
  ['guests=["a b", "c,d"]', { guests: ['a b', 'c,d'] }],
  ['labels.session.path=/tmp', { labels: { 'session.path': '/tmp' } }],
  ['external.port=6379', { external: { port: 6379 } }],
  ['external.password=null', { external: { password: null } }],
  ['external=null', { external: null }],
  ['cup.size=2', { cup: { size: 2 } }],
] as const) {
  test(`--set ${argument} is ${JSON.stringify(expected)}`, async () => {
    assert.deepEqual(await read([argument]), expected)
  })
}

test('settings of one group go together, and an entry named __proto__ is an entry', async () => {
  assert.deepEqual(await read(['external.host=h', 'external.port=1', 'degrees=2']), {
    external: { host: 'h', port: 1 },
    degrees: 2,
  })
  const patch = (await read(['labels.__proto__=x'])) as { labels: object }
  assert.deepEqual(Object.entries(patch.labels), [['__proto__', 'x']])
})

test('a secret comes from standard input as it is, without its last line end', async () => {
  assert.deepEqual(await read(['external.host=h', 'external.password'], 'null\n'), {
    external: { host: 'h', password: 'null' },
  })
})

for (const [args, message] of [
  [['enabled=yes'], /"enabled" must be true or false/],
  [['degrees=101'], /"degrees" must be a whole number from 1 to 100/],
  [['degrees=1.5'], /"degrees" must be a whole number/],
  [['degrees='], /"degrees" must be a whole number/],
  [['strength=strong'], /"strength" must be a number/],
  [['leaf=oolong'], /"leaf" must be one of green, black/],
  [['guests=ada lovelace'], /"guests" must be words with commas between them, or a list in JSON/],
  [['guests=[1]'], /"guests" must be a list of texts/],
  [['degrees=null'], /"degrees" must be a whole number/],
  [['hostPort=1'], /"hostPort" cannot be set/],
  [['external.hasPassword=true'], /"external\.hasPassword" cannot be set/],
  [['external=x'], /"external" must be set field by field, or null/],
  [['cup=x'], /"cup" is set field by field: cup\.<field>=value/],
  [['labels=x'], /"labels" has entries with names/],
  [['removeData=true'], /"removeData" is no setting of teapot/],
  [['degrees=1', 'degrees=2'], /"degrees" is set twice/],
  [['external=null', 'external.host=h'], /"external" and "external\.host" cannot go together/],
  [['external.password', 'note'], /Only one value can come from standard input/],
] as const) {
  test(`--set ${args.join(' --set ')} is refused`, async () => {
    await assert.rejects(read(args), (error) => error instanceof CliError && message.test(error.message))
  })
}

test('a secret in the arguments is refused with the way to give it, and is not repeated', async () => {
  await assert.rejects(read(['external.password=hush']), (error) => {
    assert.ok(error instanceof CliError)
    assert.match(`${error.message} ${error.hint}`, /is a secret.*--set-stdin external\.password/)
    assert.ok(!`${error.message} ${error.hint}`.includes('hush'))
    return true
  })
})

test('an unknown setting names the nearest, or all of them', async () => {
  await assert.rejects(read(['extrnal.host=x']), { hint: 'Did you mean "external.host"?' })
  await assert.rejects(read(['milk=x']), (error) =>
    /^One of: enabled, version, .*labels/.test((error as CliError).hint!),
  )
  assert.equal(nearest('strat', ['stop', 'start']), 'start')
  assert.equal(nearest('x', ['start']), null)
})

test('the help of settings says what each takes and means, and leaves out what cannot be set', () => {
  const text = settingsText(settings, { style: styleOf({}, {}) })
  assert.match(text, /^ {2}degrees +1 to 100\. How warm\.$/m)
  assert.match(text, /^ {2}leaf +green, black\. Which leaves\.$/m)
  assert.match(text, /^ {2}note +text, or null\. What is said about it\.$/m)
  assert.match(text, /^ {2}external +null\. Use one that stands elsewhere\.$/m)
  assert.match(text, /^ {2}external\.password +secret: --set-stdin external\.password, or null\. What opens it\.$/m)
  assert.match(text, /^ {2}labels +entries: labels\.<name>=value\. Free texts\.$/m)
  assert.ok(!/hostPort|hasPassword|removeData|^ {2}cup /m.test(text), text)
})
