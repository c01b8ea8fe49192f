import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertAccessible, openPage } from './support/page.ts'
import { type Service, startService, until } from './support/service.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'

const server = `
require('http').createServer((request, answer) => {
  if (request.url === '/eat') { const all = []; for (;;) all.push(Buffer.alloc(4 << 20, 1)) }
  answer.end('well')
}).listen(process.env.PORT, process.env.HOST)
`

describe('limits of a project of this machine on the page', () => {
  let browser: Browser
  let service: Service
  let root: SourceRoot
  let page: Page
  let errors: readonly string[]
  before(async () => {
    root = await makeSourceRoot()
    service = await startService({ roots: root.path })
    const path = await root.folder('shop', {
      'package.json': JSON.stringify({ name: 'shop', scripts: { start: 'node server.js' } }),
      'server.js': server,
    })
    const body = { name: 'Shop', path, node: {} }
    const made = await service.client.call('createProject', { body, query: { wait: 60 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation))
    ;({ browser, page, errors } = await openPage(service))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
    await root?.remove()
  })

  it('are set there, and an end for lack of memory is shown with the limit', { timeout: 120_000 }, async () => {
    await page.goto(`${service.url}/projects/shop/settings`)
    const limits = page.locator('#limits')
    await limits.getByLabel('Memory', { exact: true }).fill('160')
    await limits.getByLabel('CPU', { exact: true }).fill('0.5')
    await page.getByText('its limits changed').first().waitFor()
    await assertAccessible(page, 'limits of a native project')
    await page.getByRole('button', { name: 'Save limits', exact: true }).click()
    await until(async () => {
      const { limits: stored } = await service.client.call('getProject', { params: { id: 'shop' } })
      return stored?.memoryBytes === 160 * 1024 * 1024
    }, 'the limits to be stored')
    await until(async () => (await service.get('shop')).body === 'well', 'the project to answer')
    await service.get('shop', '/eat').catch(() => undefined)

    await page.goto(`${service.url}/projects/shop`)
    const said = page.getByText(/memory than its limit of 160 MiB|after it used more than its limit of 160 MiB/)
    await said.first().waitFor({ timeout: 30_000 })
    await page.getByRole('link', { name: 'Change limits' }).waitFor()
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      assert.equal(await page.evaluate(() => innerWidth), width)
      assert.ok(await said.first().isVisible(), `at ${width}`)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(wide <= 0, `nothing sticks out at ${width}`)
      await assertAccessible(page, `out of memory at ${width}`)
    }
    assert.deepEqual(errors, [])
  })
})
