// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of files look like those of templates.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { addonType, databaseTypes, runtimeTypes, type ServiceInput, serviceTypes } from '@stackquay/catalog'
import { readAddon } from '../src/read-addon.ts'
import { servicePageOf } from '../src/service-pages.ts'

const folder = fileURLToPath(new URL('../../../examples/addons/', import.meta.url))
const example = (name: string) => readFileSync(join(folder, `${name}.yml`), 'utf8')
const base = `name: echo
title: Echo
description: Says what it hears.
versions: [{version: '1', image: 'echo:1'}]
command: [/bin/echo-server, '\${port.main}']
ports: [{name: main, port: 7000}]
`
const faults = (text: string) => {
  const read = readAddon(text)
  return read.ok ? [] : read.errors.map(({ pointer, code, line }) => `${line} ${code} ${pointer}`)
}
const detail = (text: string) => {
  const read = readAddon(text)
  return read.ok ? '' : read.errors.map((error) => error.detail).join(' ')
}

test('every example is an addon, named like its file', () => {
  const names = readdirSync(folder).map((file) => file.replace(/\.yml$/, ''))
  assert.ok(names.length >= 6)
  for (const name of names) {
    const read = readAddon(example(name))
    assert.deepEqual(read.ok ? [] : read.errors, [], name)
    assert.equal(read.ok && read.definition.name, name)
  }
})

test('what no file may ask for is refused at its line, with a word that leads on', () => {
  assert.deepEqual(faults(base), [])
  for (const [more, expected] of [
    ['privileged: true', '7 unknown_field /privileged'],
    ['devices: [/dev/sda]', '7 unknown_field /devices'],
    ['mounts: /etc', '7 invalid_value /mounts'],
    ['user: root', '7 custom /user'],
    ["user: '0:0'", '7 custom /user'],
    ['volumes: [{path: /etc/data}]', '7 custom /volumes/0/path'],
    ['volumes: [{path: /data/../etc}]', '7 custom /volumes/0/path'],
    ['volumes: [{path: data}]', '7 invalid_format /volumes/0/path'],
    ['volumes: [{path: /one}, {path: /two}]', '7 too_big /volumes'],
    ['env: {HELLO: "${secret.password}"}', '7 placeholder /env/HELLO'],
    ['env: {HELLO: "${env.HOME}"}', '7 placeholder /env/HELLO'],
    ['env: {HELLO: "${host"}', '7 placeholder /env/HELLO'],
    ['env: {HELLO: "{data:postgresql-main}"}', '7 placeholder /env/HELLO'],
    ['env: {HELLO: "${source}"}', '7 placeholder /env/HELLO'],
    ['injects: {URL: "${database.main.url}"}', '7 placeholder /injects/URL'],
    ['injects: {LD_PRELOAD: "/tmp/x.so"}', '7 name_taken /injects/LD_PRELOAD'],
    ['injects: {DATABASE_URL: "x"}', '7 name_taken /injects/DATABASE_URL'],
    ['secrets: [mine]', '7 invalid_value /secrets/0'],
    ['dependsOn: [echo]', '7 dependency_cycle /dependsOn'],
    ['health: {tcp: other}', '7 unknown_port /health/tcp'],
    ['native: {programs: [../sh], argv: []}', '7 invalid_format /native/programs/0'],
    ['memoryMinimum: lots', '7 invalid_format /memoryMinimum'],
  ] as const)
    assert.deepEqual(faults(base + more), [expected], more)
  assert.match(detail(`${base}privileged: true`), /never privileged/)
  assert.match(detail(`${base}volums: []`), /Did you mean "volumes"\?/)
  assert.match(detail(base.replace('{name: main, port: 7000}', '{name: main, prot: 7000}')), /Did you mean "port"\?/)
  assert.deepEqual(faults(base.replace('7000', '70000')), ['6 too_big /ports/0/port'])
  assert.match(detail(base.replace("'${port.main}'", "'${secret.password}'")), /every user of a machine may read it/)
  assert.match(detail(base.replace('/bin/echo-server', 'echo-server')), /absolute path/)
  assert.match(detail('name: echo\n'), /is missing/)
})

test('no addon takes the name of what there is', () => {
  const [runtime, service, database] = [runtimeTypes[0]!, serviceTypes[0]!, databaseTypes[0]!]
  for (const name of [
    runtime.name,
    `${runtime.name}-dev`,
    service.name,
    `${database.name}-main`,
    ...database.aliases,
    'queue-1',
    'project',
  ])
    assert.deepEqual(faults(base.replace('name: echo', `name: ${name}`)), ['1 name_taken /name'], name)
})

test('a hostile file is refused, and does no harm', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefghi'].map((key, at) => `${key}: &${key} [${Array(9).fill(`*${'abcdefgh'[at]}`).join(',')}]`).join('\n')}\n`
  assert.deepEqual(
    faults(bomb).map((fault) => fault.split(' ')[1]),
    ['too_large'],
  )
  assert.deepEqual(faults(base + '#'.repeat(65_536)), ['1 too_large '])
  for (const text of [
    '',
    '- a',
    '&a [*a]',
    `${base}--- \nname: other`,
    `${base}<<: {user: root}`,
    '{__proto__: {user: root}}',
    '\u0000',
  ])
    assert.ok(faults(text).length > 0, JSON.stringify(text))
  assert.ok(faults('['.repeat(20_000)).length > 0)
  assert.equal(({} as { user?: string }).user, undefined)
})

test('a file becomes the descriptor that a built-in service has', () => {
  const read = readAddon(example('keycloak'))
  assert.ok(read.ok)
  const type = addonType(read.definition)
  assert.equal(addonType(read.definition), type)
  assert.deepEqual(
    [type.name, type.under, type.label, type.needs, type.keepsData, servicePageOf(type)?.port, type.memoryMinimum],
    ['keycloak', 'addons', 'Keycloak', 'images', true, 'http', 768 * 1024 ** 2],
  )
  assert.deepEqual(type.secrets, [{ name: 'admin-password', length: 32 }])
  assert.equal(type.image.reference('26.4'), 'quay.io/keycloak/keycloak:26.4')
  assert.equal(type.image.data?.('26.4'), '/opt/keycloak/data')
  const input = inputOf({ inContainer: true })
  const workload = type.toWorkload(input)
  assert.deepEqual(workload.run.argv, [
    '/opt/keycloak/bin/kc.sh',
    'start-dev',
    '--http-host=0.0.0.0',
    '--http-port=8080',
  ])
  assert.deepEqual(workload.env.KC_BOOTSTRAP_ADMIN_PASSWORD, [{ secret: 'admin-password', version: 1 }])
  assert.deepEqual(workload.data, [{ name: 'keycloak' }])
  assert.deepEqual(workload.ports, [{ name: 'http', port: 8080, hostPort: 40_000, bind: '127.0.0.1' }])
  assert.deepEqual(type.variables(input), { KEYCLOAK_URL: 'http://keycloak.internal:8080' })
  assert.deepEqual(type.credentials?.(input), {
    url: 'http://keycloak.internal:8080',
    username: 'admin',
    password: [{ secret: 'admin-password', version: 1 }],
  })
})

test('an addon waits for what it names, and says what is missing', () => {
  const read = readAddon(`${base}env: {DSN: "\${database.main.url}"}\ndependsOn: [other]\n`)
  assert.ok(read.ok)
  const type = addonType(read.definition)
  const beside = {
    workload: (name: string) => (name === 'other' ? 'other' : null),
    database: (name: string) => (name === 'main' ? { workload: 'db-main', url: 'db://main' } : null),
  }
  const workload = type.toWorkload(inputOf({ inContainer: true, beside }))
  assert.deepEqual([workload.dependsOn, workload.env.DSN], [['other', 'db-main'], 'db://main'])
  assert.throws(() => type.toWorkload(inputOf({ inContainer: true })), /needs a database "main"/)
})

test('data of a later version is not handed to an earlier one', () => {
  const read = readAddon(example('nats'))
  assert.ok(read.ok)
  const type = addonType(read.definition)
  assert.equal(type.dataBlocker('2.11', '2.12'), null)
  assert.match(type.dataBlocker('2.12', '2.11') ?? '', /choose 2\.12 again/)
  assert.equal(type.lineOf('2.12.3'), '2.12')
})

function inputOf(more: Partial<ServiceInput>): ServiceInput {
  return {
    project: { id: 'prj_1', slug: 'shop', url: 'http://shop.localhost:8080', path: '/srv/shop', toolsPath: '/tools' },
    settings: { enabled: true, version: '26.4', exposePort: false },
    host: 'keycloak.internal',
    port: () => 8080,
    secret: (name) => [{ secret: name, version: 1 }],
    toolchain: null,
    hostPort: () => 40_000,
    bind: () => '127.0.0.1',
    listen: () => ({ address: '0.0.0.0', port: 8080 }),
    ourProgram: () => ({ node: '', file: '' }),
    ...more,
  }
}
