import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataOfPart, partsOf, secretsOfPart } from '../src/backup-parts.ts'
import { admit, type Unfinished } from '../src/requests.ts'
import { restoreBlockers } from '../src/restore-blockers.ts'
import type { ProjectSpec } from '../src/spec.ts'

const service = { enabled: true, version: '8', exposePort: false }
const spec = {
  databases: {
    main: { type: 'postgresql', version: '18', exposePort: false },
    new: { type: 'mariadb', version: '11', exposePort: false },
  },
  services: { redis: service, rabbitmq: { ...service, enabled: false, version: '4' } },
} as Pick<ProjectSpec, 'databases' | 'services'>

const facts = {
  data: ['postgresql-main', 'rabbitmq', 'redis'],
  writtenBy: (name: string) => (name === 'rabbitmq' ? '3' : null),
  runs: () => true,
  online: (name: string) => name === 'redis',
}

test('a project has its settings, its files, and all data that there is, also of what is switched off', () => {
  assert.deepEqual(
    partsOf(spec, facts).map(({ id, title, version }) => [id, title, version]),
    [
      ['settings', 'Settings', null],
      ['files', 'Files', null],
      ['database:main', 'PostgreSQL main', '18'],
      ['service:redis', 'Redis', '8'],
      ['service:rabbitmq', 'RabbitMQ', '3'],
    ],
  )
  assert.deepEqual(
    partsOf(spec, { ...facts, data: [] }).map(({ id }) => id),
    ['settings', 'files'],
  )
})

test('a part is taken while it runs where its type can, and stops for a copy elsewhere', () => {
  const how = (runs: boolean) =>
    partsOf(spec, { ...facts, runs: () => runs })
      .filter(({ data }) => data !== null)
      .map(({ data, method, stops }) => [data, method, stops])
  assert.deepEqual(how(true), [
    ['postgresql-main', 'copy', true],
    ['redis', 'online', false],
    ['rabbitmq', 'copy', true],
  ])
  assert.deepEqual(how(false), [
    ['postgresql-main', 'copy', false],
    ['redis', 'copy', false],
    ['rabbitmq', 'copy', false],
  ])
})

test('the names of the data and the secrets of a part follow from its id and type', () => {
  const part = { id: 'database:main', type: 'postgresql' }
  assert.equal(dataOfPart(part), 'postgresql-main')
  assert.deepEqual(secretsOfPart(part), ['database/main/password'])
  assert.equal(dataOfPart({ id: 'service:redis', type: 'redis' }), 'redis')
  for (const id of ['settings', 'files']) {
    assert.equal(dataOfPart({ id, type: id }), null)
    assert.deepEqual(secretsOfPart({ id, type: id }), [])
  }
})

test('data is put back where its own version reads it, and refused part by part elsewhere', () => {
  const part = (id: string, type: string, version: string | null) => ({ id, title: type, type, version })
  const details = (...parts: ReturnType<typeof part>[]) => restoreBlockers(parts, spec).map(({ detail }) => detail)
  assert.deepEqual(
    details(
      part('settings', 'settings', null),
      part('files', 'files', null),
      part('database:main', 'postgresql', '18'),
      part('service:redis', 'redis', '8'),
    ),
    [],
  )
  const refused = details(
    part('database:main', 'postgresql', '17'),
    part('database:new', 'postgresql', '18'),
    part('database:gone', 'postgresql', '18'),
    part('service:storage', 'storage', null),
    part('service:of-later', 'of-later', '1'),
  )
  for (const [at, words] of [
    /version 18 now.*of 17\. Restore into a new project, and change the version there\.$/,
    /MariaDB now.*PostgreSQL/,
    /no database "gone"/,
    /no storage now/,
    /no service "of-later"/,
  ].entries())
    assert.match(refused[at] ?? '', words)
  const older = { ...spec, databases: { main: { ...spec.databases.main!, version: '16' } } }
  const [newer] = restoreBlockers([part('database:main', 'postgresql', '18')], older)
  assert.match(
    newer?.detail ?? '',
    /version 16 now.*of 18\. Change its version to 18 first, or restore into a new project\.$/,
  )
})

test('a backup needs quiet to begin, and stands in nobody’s way', () => {
  const one = (more: Partial<Unfinished>): Unfinished => ({
    id: 'op',
    state: 'running',
    acts: [],
    deletes: false,
    ...more,
  })
  const backup = one({ isQuiet: true })
  assert.equal(admit([one({ acts: [{ do: 'start' }] })], 'alone').type, 'refuse')
  assert.equal(admit([backup], 'alone').type, 'refuse')
  // A stop waits for it, and is not merged into one that has not begun.
  assert.deepEqual(admit([backup], 'merge', { do: 'stop' }), { type: 'new', cancels: [] })
  assert.equal(admit([{ ...backup, state: 'queued' }], 'merge', { do: 'start' }).type, 'new')
  assert.deepEqual(admit([backup], 'delete'), { type: 'new', cancels: [backup] })
  const restore = one({ acts: null })
  assert.equal(admit([restore], 'merge', { do: 'stop' }).type, 'refuse')
  assert.deepEqual(admit([restore], 'delete'), { type: 'new', cancels: [restore] })
})
