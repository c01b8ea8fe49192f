import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { runtimeTypes, type ServiceFields, type Settings, serviceTypes } from '@stackquay/catalog'
import { parseManifest } from '../src/manifest.ts'
import { printManifest } from '../src/print-manifest.ts'
import { emptySpec, type ProjectSpec } from '../src/spec.ts'
import { allTypes, generator, offersOfAll, randomSettings } from './random-patch.ts'

function read(text: string) {
  const parsed = parseManifest(text)
  assert.ok(parsed.ok, JSON.stringify(parsed))
  return { manifest: parsed.manifest.patch, secrets: parsed.manifest.secrets.map(({ name }) => name) }
}

function faults(text: string) {
  const parsed = parseManifest(text)
  assert.equal(parsed.ok, false, text.slice(0, 200))
  return parsed.ok
    ? []
    : parsed.errors.map(({ line, column, pointer, detail }) => `${line}:${column} ${pointer} ${detail}`)
}

const whole = `version: 1
name: Shop
node:
  version: 26
  preset: vite
  port: 5173
databases:
  main: {type: postgres, version: "18", exposePort: true}
env:
  GREETING: hello
  TOKEN: {secret: true}
healthCheck: {path: /ready, timeoutSeconds: 5}
limits: {cpus: 1.5, memoryBytes: 536870912}
`

test('a project file becomes the body of a PATCH, with secrets by name beside it', () => {
  const { manifest, secrets } = read(whole)
  assert.deepEqual(manifest, {
    name: 'Shop',
    node: { enabled: true, version: '26', preset: 'vite', port: 5173 },
    databases: { main: { type: 'postgres', version: '18', exposePort: true } },
    env: { GREETING: 'hello' },
    healthCheck: { path: '/ready', timeoutSeconds: 5 },
    limits: { cpus: 1.5, memoryBytes: 536_870_912 },
  })
  assert.deepEqual(secrets, ['TOKEN'])
})

test('naming a runtime wants it, with or without settings, unless the file says otherwise', () => {
  assert.deepEqual(read('node:').manifest.node, { enabled: true })
  assert.deepEqual(read('node: {}').manifest.node, { enabled: true })
  assert.deepEqual(read('node: {enabled: false}').manifest.node, { enabled: false })
})

test('a version is the text that was written, although YAML reads 3.10 as the number 3.1', () => {
  assert.deepEqual(read('python: {version: 3.10}').manifest.python, { enabled: true, version: '3.10' })
})

test('numbers and booleans of the environment arrive as they were written', () => {
  const { manifest } = read(
    'env:\n  A: 3000\n  B: true\n  C: 0x1F\n  D: 007\n  E: 1.50\n  F: True\n  G: 1e3\n  H: {value: 12}\n  I: ""\n  J: ~x',
  )
  assert.deepEqual(manifest.env, {
    A: '3000',
    B: 'true',
    C: '0x1F',
    D: '007',
    E: '1.50',
    F: 'True',
    G: '1e3',
    H: '12',
    I: '',
    J: '~x',
  })
})

test('an unknown key is named with its place and the nearest known key', () => {
  assert.deepEqual(faults('name: shop\nnode:\n  verson: 26\n  devServer:\n    scrpt: dev\ndatabasess: {}\n'), [
    '3:3 /node/verson Unknown key "verson". Did you mean "version"?',
    '5:5 /node/devServer/scrpt Unknown key "scrpt". Did you mean "script"?',
    '6:1 /databasess Unknown key "databasess". Did you mean "databases"?',
  ])
  assert.match(faults('banana: 1')[0] ?? '', /^1:1 \/banana Unknown key "banana"\. Known here: version, name, .*node/)
})

test('a field that only an answer has is unknown in a file', () => {
  assert.deepEqual(faults('redis: true'), [
    '1:8 /redis "redis" must be a map of keys; "redis:" alone takes the defaults.',
  ])
  assert.match(
    faults('mysql:')[0] ?? '',
    /^1:1 \/mysql Unknown key "mysql"\. .* under "databases".*main: \{type: mysql\}/,
  )
  assert.match(faults('id: prj_1')[0] ?? '', /^1:1 \/id Unknown key "id"/)
  assert.match(faults('status: {}')[0] ?? '', /Unknown key "status"/)
})

test('all wrong values are answered at once, in the order of the file', () => {
  const text =
    'name: ""\nnode:\n  preset: vitee\n  port: high\n  debug: 1\n  command: npm\n  hostPort: 80\nhealthCheck: {path: x, timeoutSeconds: 0}\nversion: 2\n'
  assert.deepEqual(
    faults(text).map((fault) => fault.split(' ').slice(0, 2).join(' ')),
    [
      '1:7 /name',
      '3:11 /node/preset',
      '4:9 /node/port',
      '5:10 /node/debug',
      '6:12 /node/command',
      '7:3 /node/hostPort',
      '8:21 /healthCheck/path',
      '8:40 /healthCheck/timeoutSeconds',
      '9:10 /version',
    ],
  )
  const details = faults(text).join('\n')
  assert.match(details, /"preset" must be one of generic, .*\. Did you mean "vite"\?/)
  assert.match(details, /"debug" must be true or false\./)
  assert.match(details, /"hostPort" is chosen by the service\. Remove it\./)
  assert.match(details, /"timeoutSeconds" must be at least 1\./)
})

test('a database must say its type, and a type that there is not is refused with the nearest', () => {
  assert.match(faults('databases:\n  main:\n')[0] ?? '', /^2:3 \/databases\/main "main" must say which database/)
  assert.match(
    faults('databases:\n  main: {type: postgre}\n')[0] ?? '',
    /^2:16 \/databases\/main\/type "type" must be one of .*Did you mean "postgres"\?/,
  )
  assert.match(faults('databases:\n  Main: {type: postgres}\n')[0] ?? '', /^2:3 \/databases\/Main /)
})

test('a secret’s value in the file is refused, and a variable without a value says what to write', () => {
  assert.match(
    faults('env:\n  K: {secret: true, value: x}')[0] ?? '',
    /^2:21 \/env\/K\/value A project file names secrets and does not hold them/,
  )
  assert.match(faults('env:\n  K:\n')[0] ?? '', /^2:3 \/env\/K "K" has no value\. Write K: ""/)
  assert.match(faults('env:\n  1K: x\n')[0] ?? '', /not a valid variable name/)
  assert.match(faults('env:\n  K: [a]\n')[0] ?? '', /must be text/)
  assert.match(faults('env: [A=1]\n')[0] ?? '', /"env" must be a map/)
})

test('what YAML itself refuses has line and column', () => {
  assert.deepEqual(faults('node:\n\tport: 1'), ['2:1  A tab stands where the line is indented. Indent with spaces.'])
  assert.deepEqual(faults('name: a\nname: b'), ['2:1 /name The key "name" stands here a second time.'])
  assert.deepEqual(faults('name: a\n---\nname: b'), [
    '2:1  A second document begins here ("---"). A project file is one document.',
  ])
  assert.deepEqual(faults('name: *x'), ['1:7 /name There is no anchor "&x" above this line.'])
  assert.deepEqual(faults('node: {<<: {port: 1}}'), [
    '1:8 /node Merge keys ("<<") are not supported. Write the keys out.',
  ])
  assert.deepEqual(faults('name: !!js/function x'), ['1:7  The tag "!!js/function" is not supported. Remove it.'])
  assert.match(faults('%YAML 1.1\n---\nname: a')[0] ?? '', /YAML 1\.2/)
  assert.match(faults('name: "a\nnode: {}')[0] ?? '', /^2:\d+ {2}Missing closing/)
})

test('an empty file and a file that is no map say what a file needs', () => {
  assert.match(faults('')[0] ?? '', /The file is empty/)
  assert.match(faults('# nothing\n')[0] ?? '', /The file is empty/)
  assert.match(faults('- node')[0] ?? '', /must be a map/)
  assert.match(faults('node')[0] ?? '', /must be a map/)
})

test('hostile files are answered within seconds, with few errors, and never throw', () => {
  const bomb = Array.from(
    { length: 9 },
    (_, level) =>
      `l${level}: &l${level} [${Array(9)
        .fill(level === 0 ? 'x' : `*l${level - 1}`)
        .join(',')}]`,
  ).join('\n')
  const files = [
    'x'.repeat(1_000_000),
    bomb,
    'a: &a [*a]',
    `a: ${'['.repeat(100_000)}`,
    `a: ${'[[[[[[[[[[[[[[[[[[[[[[[[[['}${']]]]]]]]]]]]]]]]]]]]]]]]]]'}`,
    '{a: '.repeat(40_000),
    '? '.repeat(60_000),
    '- '.repeat(90_000),
    Array.from({ length: 15_000 }, (_, index) => `k${index}: v`).join('\n'),
    '__proto__: {polluted: true}',
    '? [a]\n: b',
    '\0',
    '&'.repeat(1000),
  ]
  for (const file of files) {
    const started = performance.now()
    const answer = faults(file)
    assert.ok(answer.length >= 1 && answer.length <= 20, `${answer.length} errors for ${file.slice(0, 30)}`)
    assert.ok(performance.now() - started < 10_000, `too slow: ${file.slice(0, 30)}`)
  }
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
})

test('a variable named __proto__ is a variable', () => {
  const { manifest } = read('env:\n  __proto__: x\n')
  assert.deepEqual(Object.entries(manifest.env ?? {}), [['__proto__', 'x']])
})

test('a printed project reads back as the same settings, for every runtime', () => {
  for (const kind of runtimeTypes) {
    const preset = kind.presets[0]!
    const settings = {
      ...kind.settings.defaults(),
      version: '3.10',
      preset: preset.name,
      port: preset.port,
      command: ['a b', '--x="y"', '#'],
    } as unknown as Settings
    const text = printManifest({ ...emptySpec('Shop'), runtimes: { [kind.name]: settings } })
    const { manifest } = read(text)
    assert.deepEqual({ ...kind.settings.defaults(), ...(manifest[kind.name] as object) }, settings, text)
  }
})

test('what equals the default is not printed, and a disabled runtime stays disabled', () => {
  const kind = runtimeTypes[0]!
  const settings = {
    ...kind.settings.defaults(),
    enabled: false,
    version: '1',
    preset: kind.presets[0]!.name,
    port: 3000,
  } as unknown as Settings
  const text = printManifest({ ...emptySpec('Shop'), runtimes: { [kind.name]: settings } })
  assert.doesNotMatch(text, /debug|command|mode/)
  assert.deepEqual(read(text).manifest[kind.name], {
    enabled: false,
    version: '1',
    preset: settings.preset,
    port: 3000,
  })
})

test('databases, health check, limits and secrets read back; no text of a secret is printed', () => {
  const spec: ProjectSpec = {
    ...emptySpec('yes'),
    databases: {
      main: { type: 'postgresql', version: '18', exposePort: false },
      reports: { type: 'postgresql', version: '17', exposePort: true },
    },
    env: {
      TOKEN: { secret: true, ref: { secret: 'sec_never_in_a_file', version: 3 } },
      PORT: { secret: false, value: '3000' },
    },
    healthCheck: { path: '/', timeoutSeconds: 30 },
    limits: { cpus: null, memoryBytes: 6_291_456 },
  }
  const text = printManifest(spec)
  assert.doesNotMatch(text, /sec_never/)
  const { manifest, secrets } = read(text)
  assert.deepEqual(manifest, {
    name: 'yes',
    databases: {
      main: { type: 'postgresql', version: '18' },
      reports: { type: 'postgresql', version: '17', exposePort: true },
    },
    env: { PORT: '3000' },
    healthCheck: spec.healthCheck,
    limits: { memoryBytes: 6_291_456 },
  })
  assert.deepEqual(secrets, ['TOKEN'])
})

test('the primary database is printed first, so that it is the primary one of a new project too', () => {
  const database = { type: 'postgresql', version: '18', exposePort: false }
  const databases = { other: { ...database, primary: false }, main: { ...database, primary: true } }
  const spec = { ...emptySpec('Shop'), databases }
  assert.deepEqual(Object.keys(read(printManifest(spec)).manifest.databases ?? {}), ['main', 'other'])
})

test('environment values read back byte for byte', () => {
  const pieces = [
    '"',
    "'",
    '$',
    `$\{A}`,
    '#',
    ' #',
    ': ',
    '\n',
    '\r\n',
    '\t',
    ' ',
    '\\',
    '|',
    '>',
    '-',
    '~',
    'null',
    'true',
    '0x1f',
    '1e3',
    '%',
    '@',
    '`',
    '&a',
    '*a',
    '!t',
    '<<',
    '\u0007',
    '\u0085',
    '\u2028',
    'ü',
    '日本',
    '🚢',
    '\ufeff',
    '{',
    ']',
    ',',
    '---',
    '...',
    '',
  ]
  const env: Record<string, { secret: false; value: string }> = {}
  for (const [index, piece] of pieces.entries()) env[`P${index}`] = { secret: false, value: piece }
  for (let index = 0; index < 300; index += 1) {
    const value = Array.from({ length: randomInt(12) }, () => pieces[randomInt(pieces.length)]).join('')
    env[`R${index}`] = { secret: false, value }
  }
  const { manifest } = read(printManifest({ ...emptySpec('Shop'), env }))
  for (const [name, { value }] of Object.entries(env)) assert.equal(manifest.env?.[name], value, JSON.stringify(value))
})

const secretPaths = serviceTypes.flatMap((kind) => kind.settings.secretFields.map((path) => ({ kind, path })))

/** A file that says this and nothing else, as YAML in one line. */
const saying = (path: readonly string[], value: string) =>
  path.reduceRight((inner, key) => `{${key}: ${inner}}`, value).replace(/^\{(.*)\}$/s, '$1')

test('a bare service wants it with its defaults, and a file may switch one off', () => {
  for (const { name } of serviceTypes) {
    assert.deepEqual(read(`${name}:`).manifest[name], { enabled: true })
    assert.deepEqual(read(`${name}: {}`).manifest[name], { enabled: true })
    assert.deepEqual(read(`${name}: {enabled: false}`).manifest[name], { enabled: false })
  }
})

test('a password in the settings of a service is refused as a secret in a file, even none', () => {
  assert.notEqual(secretPaths.length, 0)
  for (const { kind, path } of secretPaths)
    for (const value of ['hush', 'null', '12']) {
      const parsed = parseManifest(saying([kind.name, ...path], value))
      assert.ok(!parsed.ok)
      assert.deepEqual(
        parsed.errors.map(({ pointer, code }) => `${pointer} ${code}`),
        [`/${kind.name}/${path.join('/')} secret_in_file`],
        value,
      )
      assert.match(parsed.errors[0]!.detail, /anybody who reads it would know .* Remove it and set it in the page/)
      assert.deepEqual([parsed.errors[0]!.line, parsed.errors[0]!.column! > 1], [1, true])
    }
})

test('what is chosen by the machine and what acts once cannot stand in a file, of any service', () => {
  for (const { name, keepsData } of serviceTypes) {
    assert.match(faults(`${name}:\n  hostPort: 1`)[0]!, /^2:3 \/\S+\/hostPort "hostPort" is chosen by the service/)
    if (!keepsData) continue
    assert.match(
      faults(`${name}:\n  enabled: false\n  removeData: true`)[0]!,
      /^3:3 \/\S+\/removeData A project file never deletes data/,
    )
  }
})

test('an unknown key of a service is named with its place and the nearest known one', () => {
  for (const { name } of serviceTypes)
    assert.deepEqual(faults(`${name}:\n  exposeport: true`), [
      `2:3 /${name}/exposeport Unknown key "exposeport". Did you mean "exposePort"?`,
    ])
})

test('a database of a file says its type, however little else it says', () => {
  assert.match(
    faults('databases:\n  main: {version: "18"}')[0]!,
    /^2:3 \/databases\/main "main" must say which database/,
  )
  assert.match(faults('databases:\n  main: {type: true}')[0]!, /^2:16 \/databases\/main\/type "type" must be one of/)
})

test('receivers of a variable and of a secret are read, and unknown ones named', () => {
  const [one, other] = runtimeTypes.map(({ name }) => name)
  const parsed = parseManifest(
    `env:\n  A: {value: 7, runtimes: [${one}]}\n  B: {secret: true, runtimes: [${one}, ${other}]}\n  C: {secret: true}`,
  )
  assert.ok(parsed.ok)
  assert.deepEqual(parsed.manifest.patch.env, { A: { value: '7', runtimes: [one] } })
  assert.deepEqual(parsed.manifest.secrets, [{ name: 'B', runtimes: [one, other] }, { name: 'C' }])
  assert.match(
    faults('env:\n  A: {value: x, runtimes: [pyhton]}')[0]!,
    /^2:28 .*"runtimes" must be one of .*Did you mean "python"/,
  )
  assert.match(faults('env:\n  A: {value: x, runtimes: node}')[0]!, /"runtimes" must be a list/)
  assert.match(faults('env:\n  A: {value: x, runtimes: []}')[0]!, /"runtimes" must be a list/)
})

test('printed variables keep their receivers, whatever they hold', () => {
  const ref = { secret: 'sec_never_in_a_file', version: 3 }
  const text = printManifest({
    ...emptySpec('Shop'),
    env: {
      A: { secret: false, value: 'true', runtimes: ['node', 'php'] },
      B: { secret: true, ref, runtimes: ['php'] },
      C: { secret: true, ref },
      D: { secret: false, value: '7' },
    },
  })
  assert.doesNotMatch(text, /sec_never/)
  const parsed = parseManifest(text)
  assert.ok(parsed.ok)
  assert.deepEqual(parsed.manifest.patch.env, { A: { value: 'true', runtimes: ['node', 'php'] }, D: '7' })
  assert.deepEqual(parsed.manifest.secrets, [{ name: 'B', runtimes: ['php'] }, { name: 'C' }])
})

test('a printed service reads back as the same settings without its secrets, for any settings of any service', () => {
  for (let seed = 0; seed < 200; seed += 1) {
    const random = generator(seed)
    for (const kind of serviceTypes) {
      const taste = { ...allTypes, offers: offersOfAll, secret: () => ({ secret: 'sec_never_in_a_file', version: 1 }) }
      const settings = kind.settings.stored.parse({
        ...kind.settings.defaults(),
        version: kind.releases[0]!.version,
        ...withoutReadOnly(randomSettings(random, kind, undefined, taste)),
      }) as ServiceFields
      const text = printManifest({ ...emptySpec('Shop'), services: { [kind.name]: settings } })
      assert.doesNotMatch(text, /sec_never/)
      const { manifest } = read(text)
      const expected = structuredClone(settings) as Record<string, unknown>
      for (const path of kind.settings.secretFields) removeAt(expected, path)
      assert.deepEqual(
        { ...kind.settings.defaults(), ...(manifest[kind.name] as object) },
        expected,
        `${seed}\n${text}`,
      )
    }
  }
})

function withoutReadOnly(settings: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings)
      .filter(([field]) => field !== 'hostPort' && field !== 'hasPassword')
      .map(([field, value]) => [
        field,
        typeof value === 'object' && value !== null && !Array.isArray(value) && !('secret' in value)
          ? withoutReadOnly(value as Record<string, unknown>)
          : value,
      ]),
  )
}

function removeAt(value: Record<string, unknown>, [key, ...rest]: readonly string[]): void {
  if (rest.length === 0) delete value[key!]
  else if (value[key!] != null) removeAt(value[key!] as Record<string, unknown>, rest)
}
