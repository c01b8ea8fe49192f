import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Browser, launchBrowser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { clientSecret, openProvider, type RealProvider } from '../apps/server/test/oidc-support.ts'
import { assertLooks, openPage } from './support/page.ts'
import { admin, type Service, startService, until } from './support/service.ts'

describe('sign-in by a provider, and projects behind it', () => {
  const ended: (() => unknown)[] = []
  let browser: Browser
  let service: Service
  let page: Page
  let provider: RealProvider

  before(async () => {
    service = await startService()
    provider = await openProvider({ after: (end) => ended.push(end as () => unknown) }, { publicUrl: service.url })
    ;({ browser, page } = await openPage(service, 20_000))
    const body = { name: 'Harbour', template: 'static' }
    await service.client.call('createProject', { body: body as never, query: { wait: 60 } })
  })
  after(async () => {
    await browser?.close()
    for (const end of ended) await end()
    await service?.close()
  })

  const params = { id: 'harbour' }
  const host = () => `http://harbour.localhost:${service.proxyPort}/`

  it('is set after the provider was tested, and what is wrong stands at its field', { timeout: 60_000 }, async () => {
    provider.people.set('1001', { groups: ['dev'], preferred_username: 'grace' })
    await page.goto(`${service.url}/settings/sign-in`)
    await page.getByText(`${service.url}/api/v1/auth/oidc/callback`).waitFor()
    await page.getByLabel('Label of the button').fill('Example ID')
    await page.getByLabel('Issuer').fill('http://id.example.org')
    await page.getByLabel('Client id').fill('stackquay')
    await page.getByLabel('Client secret').fill(clientSecret)
    await page.getByLabel('Claim').fill('groups')
    await page.getByLabel('May operate').fill('dev')
    await page.getByLabel('Current password').fill(admin.password)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('It must be an https address.').first().waitFor()
    await page.getByLabel('Issuer').fill(provider.issuer)
    await page.getByRole('button', { name: 'Test the provider' }).click()
    await page.getByText(/Found, with user info and log-out/).waitFor()
    await assertLooks(page, 'the provider of the sign-in')
    await page.getByLabel('Current password').fill(admin.password)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The provider is set.').waitFor()
    assert.ok(!(await page.content()).includes(clientSecret))
  })

  it('lets in who the provider knows, to the page and to a project that asks for it, until log-out', {
    timeout: 90_000,
  }, async (t) => {
    await page.goto(`${service.url}/projects/harbour/network?view=rules`)
    await page.getByRole('switch', { name: 'Only people who are signed in and may read this project' }).check()
    await assertLooks(page, 'the rule of the sign-in')
    await page.getByRole('button', { name: /^Save/ }).click()
    await until(async () => (await service.get('harbour', '/')).status === 303, 'strangers to be sent to the login')

    const other = await launchBrowser()
    t.after(() => other.close())
    other.context.setDefaultTimeout(20_000)
    const own = await other.page()
    await own.goto(`${service.url}/login#oidc-error=refused`)
    await own.getByText('The provider did not let you in').waitFor()
    await assertLooks(own, 'the login with a provider')
    // From the project’s own address, through the login and the provider, and back.
    await own.goto(`${host()}deep?x=1`)
    await own.getByRole('button', { name: 'Example ID' }).click()
    await atProvider(own, '1001')
    await own.waitForURL(`${host()}deep?x=1`)
    const [cookie] = (await other.context.cookies(host())).filter(({ name }) => name.startsWith('stackquay_page_'))
    assert.deepEqual([cookie?.domain, cookie?.httpOnly], ['harbour.localhost', true])
    const inside = () => service.get('harbour', '/', { headers: { cookie: `${cookie!.name}=${cookie!.value}` } })
    assert.equal((await inside()).status, 200)
    assert.equal((await service.client.call('listAudit', { query: { action: 'service.page.open' } })).items.length, 1)
    // It needs the service no more.
    await service.kill()
    assert.equal((await inside()).status, 200)
    await service.start()

    await own.goto(service.url)
    await own.getByRole('button', { name: 'Account: grace' }).click()
    await own.getByRole('menuitem', { name: 'Log out' }).click()
    // The page of the provider, which asks whether one logs out there too.
    await own.waitForURL((url) => url.origin === provider.issuer)
    await until(async () => (await inside()).status === 303, 'the pass to end', 2_000)
  })

  it('links the account of who is logged in, with the password', { timeout: 60_000 }, async () => {
    provider.people.set('2002', { groups: [], preferred_username: 'somebody' })
    await page.goto(`${service.url}/settings/sessions`)
    await page.getByRole('button', { name: 'Link this account' }).click()
    await atProvider(page, '2002')
    await page.getByText('Your password links that to your account here.').waitFor()
    await assertLooks(page, 'linking an account')
    await page.getByLabel('Current password').fill(admin.password)
    await page.getByRole('button', { name: 'Link', exact: true }).click()
    await page.waitForURL(`${service.url}/settings/sessions`)
    const linked = await service.client.call('listAudit', { query: { action: 'auth.oidc_link' } })
    assert.deepEqual(
      linked.items.map(({ actor, outcome }) => [actor, outcome]),
      [['ada', 'success']],
    )
  })

  it('leaves the project open again when the rule is taken away', { timeout: 30_000 }, async () => {
    await service.client.call('putProxyRules', { params, body: {} })
    await until(async () => (await service.get('harbour', '/')).status === 200, 'everybody to come in')
  })
})

/** Signs in there, and agrees. */
async function atProvider(page: Page, subject: string): Promise<void> {
  const submit = page.locator('button[type=submit], input[type=submit]').first()
  await page.locator('input[name=login]').fill(subject)
  await page.locator('input[name=password]').fill('any')
  await submit.click()
  await submit.click()
}
