import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Browser, freePort, makeKey } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertLooks, openPage } from './support/page.ts'
import { type Service, startService } from './support/service.ts'
import { sshClient } from './support/ssh-client.ts'

describe('SSH on the page', () => {
  let browser: Browser
  let service: Service
  let page: Page
  let work: string
  let port: number

  before(async () => {
    port = await freePort()
    work = await mkdtemp(join(tmpdir(), 'stackquay-ssh-'))
    await makeKey(join(work, 'key'), 'ed25519')
    service = await startService({ env: { STACKQUAY_SSH: `127.0.0.1:${port}` } })
    await service.client.call('createProject', {
      body: { name: 'Shop', template: 'static', start: false },
      query: { wait: 60 },
    })
    ;({ browser, page } = await openPage(service, 20_000))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
    if (work !== undefined) await rm(work, { recursive: true, force: true })
  })

  const dialog = () => page.getByRole('dialog')

  it('shows how a project is reached, takes a key that then opens it, and removes the key', {
    timeout: 120_000,
  }, async () => {
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.goto(`${service.url}/projects/shop/ssh`)
    await page.getByText('You have no SSH key here yet').waitFor()
    await page.getByText(`ssh -p ${port} shop@127.0.0.1`, { exact: true }).waitFor()
    const { hostKey } = await service.client.call('getProjectSsh', { params: { id: 'shop' } })
    await page.getByText(hostKey!.fingerprint, { exact: true }).waitFor()
    await assertLooks(page, 'SSH of a project')

    await page.getByRole('link', { name: 'Add a key' }).click()
    await page.getByText('No SSH keys').waitFor()
    await assertLooks(page, 'no SSH keys')
    await page.getByRole('button', { name: 'Add key' }).click()
    await dialog().getByLabel('Public key').fill('ssh-ed25519 AAAA broken')
    await dialog().getByRole('button', { name: 'Add key' }).click()
    await dialog().getByText('The key is damaged').waitFor()
    await assertLooks(page, 'a damaged SSH key')
    await dialog()
      .getByLabel('Public key')
      .fill(await readFile(join(work, 'key.pub'), 'utf8'))
    await dialog().getByLabel('Name').fill('Laptop')
    await dialog().getByRole('button', { name: 'Add key' }).click()
    await page.getByText('The key was added.').waitFor()
    const client = sshClient(port, join(work, 'key'), work)
    assert.equal((await client.ssh('shop', 'echo in')).out, 'in\n')
    await page.reload()
    await page.getByRole('row', { name: /Laptop/ }).waitFor()
    await assertLooks(page, 'SSH keys')

    await page.getByRole('button', { name: 'Remove the key: Laptop' }).click()
    await dialog().getByRole('button', { name: 'Remove key' }).click()
    await page.getByText('No SSH keys').waitFor()
    assert.equal((await client.ssh('shop', 'echo in')).code, 255)
  })
})
