import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chosenParts, partsOfProject } from '../src/lib/backup-parts.ts'

const words = { settings: 'Settings', files: 'Files' }
const service = (name: string, keepsData: boolean, kind = 'service') => ({
  kind,
  name,
  label: name.toUpperCase(),
  keepsData,
})

test('a project offers its settings, its files, each database, and each service that keeps data', () => {
  const project = { databases: { main: {}, reports: {} }, redis: {}, memcached: {} }
  const services = [
    service('redis', true),
    service('memcached', false),
    service('storage', true),
    service('main', true, 'database'),
  ]
  assert.deepEqual(
    partsOfProject(project, services, words).map(({ id, label }) => `${id} ${label}`),
    ['settings Settings', 'files Files', 'database:main main', 'database:reports reports', 'service:redis REDIS'],
  )
})

test('all parts are no list, so that what the project gets meanwhile is in the backup too', () => {
  const options = partsOfProject({ databases: { main: {} } }, [], words)
  assert.equal(chosenParts(options, new Set()), undefined)
  assert.deepEqual(chosenParts(options, new Set(['files'])), ['settings', 'database:main'])
})
