import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseTypes, runtimeTypes, serviceTypes } from '@stackquay/catalog'
import { PullSource } from '@stackquay/contract'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { parseManifest } from '../src/manifest.ts'
import { manifestSchema } from '../src/manifest-schema.ts'
import { mergeProject } from '../src/merge-project.ts'
import { printManifest } from '../src/print-manifest.ts'
import { emptySpec, type ProjectSpec } from '../src/spec.ts'
import { allTypes, generator, offersOfAll, type Random, randomPatch, randomReceivers } from './random-patch.ts'

/** As editors read the published schema. */
const accepts = new Ajv2020({ strict: true, strictTypes: false, allErrors: true }).compile(manifestSchema())

/** What both say of a text; a difference is told with what each of them has to say. */
function agree(text: string, what: string): boolean {
  const parsed = parseManifest(text)
  const accepted = accepts(parse(text, { version: '1.2', schema: 'core' }))
  const said = parsed.ok ? accepts.errors : parsed.errors
  assert.equal(accepted, parsed.ok, `${what}\n${text}\n${JSON.stringify(said)}`)
  return accepted
}

function randomSpec(random: Random): ProjectSpec {
  let spec = emptySpec('Shop')
  for (let times = 1 + random.below(3); times > 0; times -= 1) {
    const patch = randomPatch(random, spec, {
      ...allTypes,
      offers: offersOfAll,
      secret: () => ({ secret: 'sec_hidden', version: 1 }),
    })
    const env = Object.fromEntries(
      ['A', 'B', 'C']
        .filter(() => random.chance(0.3))
        .map((name) => [
          name,
          random.chance(0.5)
            ? ({
                secret: false,
                value: random.pick(['3000', 'true', '', 'hello: world']),
                ...randomReceivers(random),
              } as const)
            : ({ secret: true, ref: { secret: 'sec_hidden', version: 1 }, ...randomReceivers(random) } as const),
        ]),
    )
    const merged = mergeProject(spec, patch, env, offersOfAll, random.pick(['enables', 'keeps']))
    assert.ok(merged.ok, JSON.stringify(merged))
    spec = merged.spec
  }
  return spec
}

test('the schema is a valid one, closed at every depth, and says what each kind is', () => {
  const schema = manifestSchema() as { $schema: string; properties: Record<string, Record<string, unknown>> }
  assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema')
  for (const kind of [...runtimeTypes, ...serviceTypes]) {
    const property = schema.properties[kind.name]!
    assert.deepEqual([property.title, property.description], [kind.label, kind.summary])
    assert.equal(property.additionalProperties, false)
  }
  const open: string[] = []
  const visit = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) return
    const node = value as Record<string, unknown>
    if (node.properties !== undefined && node.additionalProperties !== false) open.push(path)
    for (const [key, inner] of Object.entries(node)) visit(inner, `${path}/${key}`)
  }
  visit(schema, '')
  assert.deepEqual(open, [])
})

test('every field of a runtime and service has a text for the editor', () => {
  const { properties } = manifestSchema() as { properties: Record<string, { properties: Record<string, object> }> }
  for (const { name } of [...runtimeTypes, ...serviceTypes])
    for (const [field, schema] of Object.entries(properties[name]!.properties))
      assert.ok('description' in schema, `${name}.${field}`)
})

test('a file names no password, no port of the machine and no deletion: the schema does not know them', () => {
  const schema = manifestSchema()
  const text = JSON.stringify(schema)
  for (const field of ['"hostPort"', '"debugHostPort"', '"removeData"', '"hasPassword"'])
    assert.ok(!text.includes(field))
  // What a source to pull from has by such a name takes the name of a variable and nothing else.
  const kept = JSON.stringify(schema, (key, value: unknown) => (key === 'pull' ? undefined : value))
  for (const kind of serviceTypes)
    for (const path of kind.settings.secretFields) assert.ok(!kept.includes(`"${path.at(-1)}"`), path.join('.'))
  for (const field of ['token', 'key', 'passphrase', 'password', 'accessKeyId', 'secretAccessKey']) {
    const takes = (text: string) => PullSource.safeParse({ from: 's3://bucket', [field]: text }).success
    assert.ok(takes('DEPLOY_KEY'), field)
    for (const text of ['p4ss-word', 'hunter2', 'Sesame', '-----BEGIN KEY-----'])
      assert.ok(!takes(text), `${field} ${text}`)
  }
})

test('the schema accepts every file that we print, as the parser does, for any project', () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const text = printManifest(randomSpec(generator(seed)))
    assert.ok(agree(text, `seed ${seed}`), `seed ${seed}\n${text}`)
  }
})

test('schema and parser accept and refuse the same of files that were changed at random', () => {
  let [taken, refused] = [0, 0]
  for (let seed = 0; seed < 1500; seed += 1) {
    const random = generator(seed)
    const value = parse(printManifest(randomSpec(random))) as Record<string, unknown>
    const what = mutate(random, value)
    // JSON is YAML, and keeps numbers and texts apart.
    if (agree(JSON.stringify(value), `seed ${seed}: ${what}`)) taken += 1
    else refused += 1
  }
  assert.ok(taken > 100 && refused > 300, `${taken} accepted, ${refused} refused`)
})

const strange = [
  null,
  true,
  false,
  0,
  1,
  -1,
  1.5,
  70_000,
  '',
  ' ',
  'x',
  '3.10',
  'no such',
  [],
  ['a'],
  [1],
  {},
  { x: 1 },
]
const keys = [
  'x',
  'verson',
  'hostPort',
  'removeData',
  'hasPassword',
  'password',
  'id',
  'external',
  'runtimes',
  'secret',
  'value',
]

/** Puts something else in one place, takes a key away, or adds one. */
function mutate(random: Random, root: Record<string, unknown>): string {
  const places: { holder: Record<string, unknown>; key: string; path: string }[] = []
  const visit = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      places.push({ holder: value as Record<string, unknown>, key, path: `${path}/${key}` })
      visit(inner, `${path}/${key}`)
    }
  }
  visit(root, '')
  const { holder, key, path } = random.pick(places)
  const act = random.below(4)
  if (act === 0 && !Array.isArray(holder)) {
    delete holder[key]
    return `without ${path}`
  }
  const value = random.pick(strange)
  if (act === 1 && !Array.isArray(holder)) {
    const added = random.pick(keys)
    holder[added] = value
    return `${added} beside ${path}: ${JSON.stringify(value)}`
  }
  holder[key] = value
  return `${path}: ${JSON.stringify(value)}`
}

test('schema and parser agree on the files that people get wrong', () => {
  const [runtime, service, database] = [runtimeTypes[0]!.name, serviceTypes[0]!.name, databaseTypes[0]!.name]
  const accepted = [
    `${runtime}:`,
    `${service}:`,
    `${service}: {enabled: false}`,
    `${runtime}: {version: 3.10}`,
    `${runtime}: {version: true}`,
    'env:',
    'env: {A: 1, B: true, C: 1.5, D: "", E: {value: 1}, F: {secret: true}, G: {secret: false, value: x}}',
    `env: {A: {secret: true, runtimes: [${runtime}]}, B: {value: x, runtimes: [${runtime}]}}`,
    `databases: {main: {type: ${database}, version: 18}}`,
    `databases: {main: {type: ${databaseTypes.flatMap(({ aliases }) => aliases)[0]}}}`,
    'limits: null',
    'healthCheck: null',
    'limits: {cpus: null}',
    'version: 1\nname: 7',
  ]
  const refused = [
    'version: 2',
    'version: "1"',
    'name: " "',
    'name:',
    `${runtime}: {verson: 1}`,
    `${runtime}: []`,
    `${runtime}: {port: 0}`,
    `${runtime}: {port: "3000"}`,
    `${runtime}: {hostPort: 3000}`,
    `${service}: {removeData: true, enabled: false}`,
    `${service}: {hostPort: 1}`,
    'env: []',
    'env: {A: null}',
    'env: {A: []}',
    'env: {A: {}}',
    'env: {A: {secret: true, value: x}}',
    'env: {A: {secret: false}}',
    'env: {A: {value: x, secret: 1}}',
    'env: {A: {value: x, runtimes: []}}',
    'env: {A: {value: x, runtimes: [nothing]}}',
    'env: {A: {value: x, runtime: [a]}}',
    'env: {1A: x}',
    'env: {"A B": x}',
    'env: {A: "a\\0b"}',
    'databases: {main: {}}',
    'databases: {main: null}',
    'databases: {main: {type: nothing}}',
    `databases: {Main: {type: ${database}}}`,
    `databases: {main: {type: ${database}, hostPort: 1}}`,
    `databases: {main: {type: ${database}, version: ""}}`,
    'databases: {main: {version: "18"}}',
    'healthCheck: {path: up}',
    'healthCheck: {path: 7}',
    'healthCheck: {timeoutSeconds: 0}',
    'limits: {cpus: 0}',
    'limits: {memory: 1}',
  ]
  for (const text of accepted) assert.equal(agree(text, 'accepted'), true, text)
  for (const text of refused) assert.equal(agree(text, 'refused'), false, text)
})
