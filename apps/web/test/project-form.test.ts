import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyOf, emptyForm, type Offers, offeredForm } from '../src/lib/project-form.ts'

const line = (version: string, available = true) => ({ version, available })
const here: Offers = {
  templates: [
    { name: 'rails', available: false },
    { name: 'vite', available: true },
    { name: 'flask', available: true },
  ],
  runtimes: [
    { name: 'node', available: true, versions: [line('26'), line('24', false)] },
    { name: 'ruby', available: false, versions: [line('4.0', false)] },
  ],
  databases: [{ name: 'postgresql', available: true, versions: [line('18', false), line('15')] }],
  services: [{ name: 'redis', available: true, versions: [line('8', false), line('7.0')] }],
}

test('what an engine does not offer is left out, and a version that it does not have becomes the default', () => {
  const form = offeredForm(
    {
      ...emptyForm,
      template: 'rails',
      runtimes: { node: { version: '24', preset: 'vite' }, ruby: { version: '4.0', preset: '' } },
      databases: { postgresql: { name: 'main', version: '18' }, mariadb: { name: 'extra', version: '' } },
      services: { redis: '8', rabbitmq: '' },
    },
    here,
  )
  assert.equal(form.template, 'vite')
  assert.deepEqual(form.runtimes, { node: { version: '', preset: 'vite' } })
  assert.deepEqual(form.databases, { postgresql: { name: 'main', version: '' } })
  assert.deepEqual(form.services, { redis: '' })
})

test('what is offered stays as it was typed', () => {
  const typed = {
    ...emptyForm,
    template: 'flask',
    name: 'Shop',
    runtimes: { node: { version: '26', preset: 'vite' } },
    databases: { postgresql: { name: 'main', version: '15' } },
    services: { redis: '7.0' },
  }
  assert.deepEqual(offeredForm(typed, here), typed)
})

test('where there are no templates, the source is a repository', () => {
  assert.equal(offeredForm(emptyForm, { ...here, templates: [] }).source, 'git')
  assert.equal(offeredForm({ ...emptyForm, source: 'folder' }, { ...here, templates: [] }).source, 'folder')
})

test('only what was chosen is sent, and nothing while the source is missing', () => {
  assert.equal(bodyOf({ ...emptyForm, source: 'git' }, 'Shop'), null)
  assert.equal(bodyOf({ ...emptyForm, source: 'empty' }, ''), null)
  assert.deepEqual(bodyOf({ ...emptyForm, source: 'empty', engine: 'docker', services: { redis: '' } }, 'Shop'), {
    name: 'Shop',
    redis: { enabled: true },
    engine: 'docker',
  })
})
