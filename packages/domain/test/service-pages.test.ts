import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceTypes } from '@stackquay/catalog'
import { pageHost, pageLabel, servicePageOf } from '../src/index.ts'

test('the page of a service has a name that is a DNS label, whatever both are called', () => {
  assert.equal(pageLabel('mailpit', 'shop'), 'mailpit--shop')
  const services = [...serviceTypes.map(({ name }) => name), 'mq', 'a1', 'a'.repeat(30)]
  const slugs = ['shop', 'a', 'feature-x--shop', 'x'.repeat(59), `${'x'.repeat(58)}y`, `${'ab-'.repeat(19)}ab`]
  const seen = new Map<string, string>()
  for (const service of services) {
    for (const slug of slugs) {
      const label = pageLabel(service, slug)
      assert.match(label, /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
      assert.ok(label.includes('--'), label)
      // Where names in other scripts have theirs.
      assert.notEqual(label.slice(2, 4), '--', label)
      assert.equal(seen.get(label), undefined, `${label} is of both ${seen.get(label)} and ${service} ${slug}`)
      seen.set(label, `${service} ${slug}`)
    }
  }
})

test('its host is below the domain of the project, without a port', () => {
  const shop = { slug: 'shop', url: 'http://shop.quay.example:8701' }
  assert.equal(pageHost('mailpit', shop), 'mailpit--shop.quay.example')
})

test('built-in services that people open in a browser have one', () => {
  const pages = serviceTypes.flatMap((type) => servicePageOf(type) ?? [])
  assert.deepEqual(pages.map(({ workload, port }) => `${workload} ${port}`).toSorted(), [
    'mailpit web',
    'rabbitmq management',
  ])
})
