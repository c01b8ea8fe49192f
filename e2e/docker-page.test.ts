import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { inspect } from './support/docker-objects.ts'
import { type DockerService, startDockerService } from './support/docker-service.ts'
import { assertAccessible, openPage } from './support/page.ts'
import { until } from './support/service.ts'

const half = 512 * 1024 ** 2

describe('containers on the page', () => {
  let browser: Browser
  let service: DockerService
  let page: Page
  let errors: readonly string[]

  before(async () => {
    service = await startDockerService([])
    ;({ browser, page, errors } = await openPage(service, 60_000, { undisturbed: true }))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const open = (path: string) => page.goto(`${service.url}${path}`)
  const button = (name: string) => page.getByRole('button', { name, exact: true })

  it('a new project gets the engine that is chosen, and what was typed stays while one is', {
    timeout: 300_000,
  }, async () => {
    await open('/new')
    await page.getByRole('radio', { name: /Static page/ }).check()
    await page.getByLabel('Name', { exact: true }).fill('Harbour')
    const plan = page.getByRole('complementary', { name: 'Plan' })
    for (const [engine, label] of [
      ['native', /^Native/],
      ['docker', /^Docker/],
    ] as const) {
      const planned = page.waitForResponse(
        (answer) => answer.request().method() === 'POST' && answer.url().includes('dryRun'),
      )
      await page.getByRole('radio', { name: label }).check()
      const { plan: steps } = (await (await planned).json()) as { plan: { steps: { title: string }[] } }
      await plan.getByText(steps.steps[0]!.title).first().waitFor()
      assert.ok(await page.getByRole('radio', { name: /Static page/ }).isChecked(), engine)
      assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Harbour')
    }
    await assertAccessible(page, 'new project on Docker')
    await button('Create project').click()
    await page.waitForURL(/\/operations\/op_/)
    await page.getByText('Harbour is running').waitFor({ timeout: 200_000 })
    assert.equal((await service.get('harbour')).status, 200)
    const { engine } = await service.client.call('getProject', { params: { id: 'harbour' } })
    assert.equal(engine, 'docker')
  })

  it('the images card tells the build in use, and that there is none to go back to', { timeout: 120_000 }, async () => {
    const { items } = await service.client.call('listImages', { params: { id: 'harbour' } })
    await open('/projects/harbour/settings')
    const images = page.locator('#images')
    await images.getByText(items[0]!.reference).waitFor()
    await images
      .getByText((items[0]!.current!.digest ?? items[0]!.current!.id).replace('sha256:', '').slice(0, 12))
      .waitFor()
    const previous = images.getByRole('button', { name: /^Use previous build of/ })
    assert.equal(await previous.getAttribute('aria-disabled'), 'true')
    await assertAccessible(page, 'settings of a project on Docker')
  })

  it('limits are shown in the plan as people read them, and hold for the container', { timeout: 180_000 }, async () => {
    const limits = page.locator('#limits')
    await limits.getByLabel('Memory', { exact: true }).fill('512')
    await limits.getByLabel('CPU', { exact: true }).fill('0.5')
    const changes = limits.getByRole('list', { name: 'Changed settings' })
    await changes.getByText('512 MiB').waitFor()
    assert.equal(await changes.getByText(String(half)).count(), 0)
    await assertAccessible(page, 'plan of limits')
    await button('Save limits').click()
    await page.getByText('Limits are being applied.').waitFor()
    const { id } = await service.client.call('getProject', { params: { id: 'harbour' } })
    await until(
      async () => {
        const [container] = await inspect(service.lab, id)
        return container?.HostConfig.Memory === half && container.HostConfig.NanoCpus === 0.5e9
      },
      'the container to have its limits',
      120_000,
    )
    await open('/projects/harbour/settings')
    await page.locator('header').getByText('Running', { exact: true }).waitFor()
    assert.equal(await limits.getByLabel('Memory', { exact: true }).inputValue(), '512')
  })

  it('diagnostics tell that Docker answers, and what of the service is on it', { timeout: 120_000 }, async () => {
    await open('/settings/diagnostics')
    const usage = page.getByRole('list', { name: 'On Docker this instance has' })
    await usage.getByText('1 container', { exact: false }).waitFor()
    await usage.getByText(/^1 network/).waitFor()
    await assertAccessible(page, 'diagnostics with Docker')
    assert.deepEqual(errors, [])
  })

  it('while Docker does not answer, nothing that needs it can be pressed, and each says why', {
    timeout: 180_000,
  }, async () => {
    const why = 'The engine does not answer, so this cannot be done now.'
    await open('/projects/harbour/services')
    const add = page.getByRole('button', { name: /^Add / }).first()
    await add.waitFor()
    assert.equal(await add.getAttribute('aria-disabled'), null)
    await service.lab.kill()
    await page.locator('header').getByText('Engine does not answer', { exact: true }).waitFor()
    assert.equal(await add.getAttribute('aria-description'), why)
    await assertAccessible(page, 'services while Docker is silent')
    await page.getByRole('link', { name: 'Databases', exact: true }).click()
    assert.equal(await button('Add database').first().getAttribute('aria-description'), why)
    await page.getByRole('link', { name: 'Settings', exact: true }).last().click()
    assert.ok(await page.locator('#limits').getByLabel('Memory', { exact: true }).isDisabled())
    assert.equal(await button('Save limits').getAttribute('aria-description'), why)
    await assertAccessible(page, 'settings while Docker is silent')
    await service.lab.restart()
    await page
      .locator('header')
      .getByText('Engine does not answer', { exact: true })
      .waitFor({ state: 'detached', timeout: 120_000 })
    assert.ok(await page.locator('#limits').getByLabel('Memory', { exact: true }).isEnabled())
  })
})
