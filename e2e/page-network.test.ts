import assert from 'node:assert/strict'
import { request } from 'node:https'
import { after, before, describe, it } from 'node:test'
import { type Browser, freePort, launchBrowser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { assertAccessible, assertLooks, logIn, makeUser, openPage } from './support/page.ts'
import { type Service, startService, throughProxy, until } from './support/service.ts'

const project = 'harbour'
const at = (view = '') => `/projects/${project}/network${view === '' ? '' : `?view=${view}`}`

describe('the network of a project on the page', () => {
  let browser: Browser
  let service: Service
  let httpsPort: number
  let page: Page
  let errors: readonly string[]

  before(async () => {
    httpsPort = await freePort()
    service = await startService({ env: { STACKQUAY_PROXY_HTTPS: `127.0.0.1:${httpsPort}` } })
    ;({ browser, page, errors } = await openPage(service))
    for (const name of ['Harbour', 'Pier']) {
      const body = { name, template: 'static' }
      const made = await service.client.call('createProject', { body: body as never, query: { wait: 60 } })
      assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    }
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const params = { id: project }
  const open = (path: string) => page.goto(`${service.url}${path}`)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const dialog = () => page.getByRole('dialog')
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
  const row = (name: string | RegExp) => page.getByRole('row', { name })
  const answers = async (host: string, status: number, what: string) =>
    until(async () => (await throughProxy(service.proxyPort, host, '/')).status === status, what, 20_000)

  describe('domains', () => {
    it('lists the name that comes with the project, which nobody can remove', { timeout: 60_000 }, async () => {
      await open(`/projects/${project}`)
      await page.getByRole('link', { name: 'Network', exact: true }).click()
      await row(/^harbour\.localhost .*comes with the project/).waitFor()
      assert.equal(await button('Remove harbour.localhost').count(), 0)
      await page.getByText(`its port ${service.proxyPort} can be reached`).waitFor()
      await assertAccessible(page, 'domains')
    })

    it('says at the field what is wrong with a name, and whose it is already', { timeout: 60_000 }, async () => {
      await service.client.call('addDomain', { params: { id: 'pier' }, body: { host: 'pier.example.org' } })
      await button('Add domain').click()
      const host = dialog().getByLabel('Host name')
      await host.fill('https://shop.example.org/')
      await inDialog('Add domain').click()
      await dialog().getByText('leave out scheme, port and path').waitFor()
      assert.equal(await host.getAttribute('aria-invalid'), 'true')
      await assertAccessible(page, 'a name that is none')
      await host.fill('pier.example.org')
      assert.equal(await host.getAttribute('aria-invalid'), null)
      await inDialog('Add domain').click()
      await dialog().getByText('belongs to another project').waitFor()
      assert.equal(await host.getAttribute('aria-invalid'), 'true')
    })

    it('adds a name that the project answers under at once', { timeout: 60_000 }, async () => {
      await dialog().getByLabel('Host name').fill('Shop.Example.ORG')
      await inDialog('Add domain').click()
      await dialog().waitFor({ state: 'detached' })
      await page.getByRole('link', { name: /^shop\.example\.org/ }).waitFor()
      await answers('shop.example.org', 200, 'the new name to answer')
      // Names that others add appear by themselves.
      await service.client.call('addDomain', { params, body: { host: 'bücher.example', workload: 'static' } })
      await row(/bücher\.example.*xn--bcher-kva\.example/).waitFor()
      await assertAccessible(page, 'more domains')
    })

    it('removes a name after a question', { timeout: 60_000 }, async () => {
      await button('Remove shop.example.org').click()
      await dialog().getByText('stops answering under this name').waitFor()
      await assertAccessible(page, 'remove a domain')
      await inDialog('Remove domain').click()
      await page.getByRole('link', { name: /^shop\.example\.org/ }).waitFor({ state: 'detached' })
      await answers('shop.example.org', 404, 'the removed name to be unknown')
    })
  })

  describe('another address', () => {
    it('shows what restarts, says what is wrong with a slug, and goes on at the new one', {
      timeout: 90_000,
    }, async () => {
      await open('/projects/pier/settings')
      const slug = page.locator('#rename').getByLabel('Short name')
      await slug.fill('harbour')
      await page.getByText('is taken').first().waitFor()
      await slug.fill('quay')
      await page.locator('#rename').getByText('Restart', { exact: false }).first().waitFor()
      await assertLooks(page, 'rename')
      await button('Change address').click()
      await page.waitForURL(`${service.url}/projects/quay/settings`)
      await answers('quay.localhost', 200, 'the new address to answer')
      await answers('pier.localhost', 308, 'the address of before to lead there')
      await open('/projects/quay/network')
      await row(/^pier\.localhost .*redirects until/).waitFor()
      await assertLooks(page, 'former domain')
      await button('Remove pier.localhost').click()
      await inDialog('Remove domain').click()
      await answers('pier.localhost', 404, 'the former address to be unknown')
    })
  })

  describe('rules', () => {
    const unsaved = () => page.getByRole('region', { name: 'Unsaved changes' })
    const save = async () => {
      await button('Save rules').click()
      await unsaved().waitFor({ state: 'detached' })
    }
    const addresses = () => page.getByLabel('Addresses and blocks')
    const redirect = (number: number) => page.getByRole('group', { name: `Redirect ${number}`, exact: true })

    it('warns who would shut themselves out, and throws away what is discarded', { timeout: 60_000 }, async () => {
      await open(at('rules'))
      await addresses().fill('192.0.2.0/24')
      await page.getByText('Your own address, 127.0.0.1, is not among them').waitFor()
      await assertAccessible(page, 'shut out')
      await addresses().fill('192.0.2.0/24\n127.0.0.0/8')
      await page.getByText('is not among them').waitFor({ state: 'detached' })
      await button('Discard').click()
      await unsaved().waitFor({ state: 'detached' })
      assert.equal(await addresses().inputValue(), '')
    })

    it('shows each mistake at its field, and all of them at once', { timeout: 90_000 }, async () => {
      await addresses().fill('127.0.0.0/8\n300.1.1.1')
      for (const _ of [1, 2]) await button('Add redirect').click()
      await redirect(1).getByLabel('From path').fill('/old/*')
      await redirect(1).getByLabel('To', { exact: true }).fill('/new/*')
      await redirect(2).getByLabel('From path').fill('blog')
      await redirect(2).getByLabel('To', { exact: true }).fill('ftp://example.org/')
      await button('Add header: Request headers').click()
      await page.getByRole('group', { name: 'Header 1' }).getByLabel('Name').fill('Host')
      await page.getByRole('switch', { name: 'Answer for the application' }).check()
      await page.getByLabel('Allowed origins').fill('https://app.example.org/path')
      await button('Save rules').click()
      await page.getByText('Some fields need a correction; they are marked.').waitFor()
      for (const field of [
        addresses(),
        redirect(2).getByLabel('From path'),
        redirect(2).getByLabel('To', { exact: true }),
        page.getByRole('group', { name: 'Header 1' }).getByLabel('Name'),
        page.getByLabel('Allowed origins'),
      ])
        assert.equal(await field.getAttribute('aria-invalid'), 'true', String(field))
      assert.equal(await redirect(1).getByLabel('From path').getAttribute('aria-invalid'), null)
      await until(
        () => addresses().evaluate((node) => node === document.activeElement),
        'the first mistake to have the focus',
      )
      await assertAccessible(page, 'mistakes in rules')
      assert.deepEqual((await service.client.call('getProxyRules', { params })).redirects, [])
    })

    it('saves all rules as one, and they hold at once', { timeout: 60_000 }, async () => {
      await addresses().fill('127.0.0.0/8\n::1')
      await redirect(2).getByLabel('From path').fill('/old/harbour')
      await redirect(2).getByLabel('To', { exact: true }).fill('https://example.org/')
      await button('Move redirect 2 up').click()
      assert.equal(await redirect(1).getByLabel('From path').inputValue(), '/old/harbour')
      await page.getByRole('group', { name: 'Header 1' }).getByLabel('Name').fill('X-From')
      await page.getByRole('group', { name: 'Header 1' }).getByLabel('Value').fill('the quay')
      await page.getByLabel('Allowed origins').fill('https://app.example.org')
      await save()
      await until(async () => (await service.get(project, '/old/harbour')).status === 308, 'the redirects to hold')
      const first = await service.get(project, '/old/harbour')
      assert.deepEqual([first.status, first.headers.location], [308, 'https://example.org/'])
      const second = await service.get(project, '/old/ship')
      assert.deepEqual([second.status, second.headers.location], [308, '/new/ship'])
      const { cors, requestHeaders } = await service.client.call('getProxyRules', { params })
      assert.deepEqual(
        [cors?.origins, requestHeaders],
        [['https://app.example.org'], [{ name: 'X-From', value: 'the quay' }]],
      )
      await assertAccessible(page, 'rules')
    })

    it('sets a password that visitors are asked for and nobody is shown', { timeout: 60_000 }, async () => {
      const password = 'gangway-canary-4711'
      const authorization = `Basic ${Buffer.from(`guest:${password}`).toString('base64')}`
      await page.getByRole('switch', { name: 'Ask for a user name and a password' }).check()
      await page.getByRole('textbox', { name: 'User name' }).fill('guest')
      await page.getByLabel('Password', { exact: true }).fill(password)
      await save()
      await answers('harbour.localhost', 401, 'visitors to be asked for the password')
      assert.equal((await service.get(project, '/', { headers: { authorization } })).status, 200)
      assert.ok(!(await page.content()).includes(password))
      assert.equal(await page.getByLabel('Password', { exact: true }).inputValue(), '')
      await page.getByText('Not shown. Leave it empty to keep it.').waitFor()
      // Another change leaves it as it is.
      await button('Remove redirect 1').click()
      await save()
      assert.equal((await service.get(project, '/', { headers: { authorization } })).status, 200)
      await assertAccessible(page, 'password')
    })

    it('does not replace what somebody else changed meanwhile, unless told to', { timeout: 60_000 }, async () => {
      await page.getByRole('switch', { name: 'Answer for the application' }).uncheck()
      await unsaved().waitFor()
      await service.client.call('putProxyRules', { params, body: { allowIps: ['127.0.0.1'] } })
      await page.getByText('Someone else changed the rules meanwhile').waitFor()
      await assertAccessible(page, 'overtaken')
      await button('Discard mine').click()
      await unsaved().waitFor({ state: 'detached' })
      assert.equal(await addresses().inputValue(), '127.0.0.1')
      await addresses().fill('')
      await service.client.call('putProxyRules', { params, body: { allowIps: ['127.0.0.2'] } })
      await button('Keep mine').click()
      assert.deepEqual((await service.client.call('getProxyRules', { params })).allowIps, ['127.0.0.2'])
      await save()
      assert.deepEqual((await service.client.call('getProxyRules', { params })).allowIps, [])
      await answers('harbour.localhost', 200, 'the address to be allowed')
    })

    it('asks before unsaved rules are left', { timeout: 60_000 }, async () => {
      await addresses().fill('192.0.2.1')
      await unsaved().waitFor()
      const asked: string[] = []
      page.once('dialog', (question) => {
        asked.push(question.message())
        void question.dismiss()
      })
      await page.getByRole('radio', { name: 'Share' }).click()
      await until(async () => asked.length > 0, 'the page to ask')
      assert.match(asked[0] ?? '', /unsaved changes are lost/)
      assert.equal(await addresses().inputValue(), '192.0.2.1')
      await button('Discard').click()
    })
  })

  describe('share', () => {
    let host: string

    it('starts for a while, with a QR code and the time that is left', { timeout: 60_000 }, async () => {
      await open(at('share'))
      await page.getByLabel('For how long').selectOption({ label: '15 minutes' })
      await page.getByLabel('Password').fill('short')
      await assertAccessible(page, 'start a share')
      await page.getByLabel('Password').fill('gangway-4711')
      await button('Start sharing').click()
      await page.getByText('Ends in').waitFor()
      assert.match((await page.getByRole('timer').textContent()) ?? '', /^(15:00|14:\d\d)$/)
      const { share } = await service.client.call('getShare', { params })
      assert.ok(share?.url)
      await page.getByRole('img', { name: `QR code of ${share.url}` }).waitFor()
      await page.getByRole('link', { name: new URL(share.url).host }).waitFor()
      await page.getByText('asked for', { exact: true }).waitFor()
      assert.ok(!(await page.content()).includes('gangway-4711'))
      host = new URL(share.url).hostname
      await assertAccessible(page, 'an open share')
    })

    it('asks visitors for its password', { timeout: 60_000 }, async () => {
      const visit = await throughProxy(service.proxyPort, host, '/')
      assert.notEqual(visit.status, 200)
      assert.match(visit.body, /password/i)
    })

    it('ends with one click, and its address is gone', { timeout: 60_000 }, async () => {
      await button('End share').click()
      await button('Start sharing').waitFor()
      await answers(host, 410, 'the address of the share to be gone')
      assert.equal((await service.client.call('getShare', { params })).share, null)
    })

    it('without a password it lets in, and says who came', { timeout: 90_000 }, async () => {
      await button('Start sharing').click()
      await page.getByText('No viewers yet').waitFor()
      const { share } = await service.client.call('getShare', { params })
      assert.ok(share?.url)
      host = new URL(share.url).hostname
      assert.equal((await throughProxy(service.proxyPort, host, '/')).status, 200)
      await row(/127\.0\.0\.1/).waitFor({ timeout: 60_000 })
      await assertAccessible(page, 'viewers')
      await button('End share').click()
      await button('Start sharing').waitFor()
    })
  })

  describe('traffic', () => {
    const log = () => page.getByRole('region', { name: 'Requests', exact: true })
    const status = () => page.getByRole('combobox', { name: 'Status' })

    it('shows requests that were made, and how they were answered', { timeout: 120_000 }, async () => {
      for (let turn = 0; turn < 3; turn += 1) assert.equal((await service.get(project)).status, 200)
      assert.equal((await service.get(project, '/no-such-ship')).status, 404)
      await open(at('traffic'))
      await until(
        async () =>
          (await service.client.call('listAccessLog', { params, query: { q: 'no-such-ship' } })).items.length > 0,
        'the request to stand in the access log',
      )
      await button('Refresh requests').click()
      await log().getByText('/no-such-ship').waitFor()
      await page.getByRole('img', { name: /^Requests of the last 1 h by status: [1-9]/ }).waitFor({ timeout: 60_000 })
      await page.getByRole('img', { name: /^Response times of the last 1 h/ }).waitFor()
      await assertAccessible(page, 'traffic')
      await page.getByText('As a table').click()
      await page.getByRole('region', { name: 'Traffic', exact: true }).getByRole('row').nth(1).waitFor()
      await assertAccessible(page, 'traffic as a table')
    })

    it('narrows the log by status and text, and the address keeps that', { timeout: 60_000 }, async () => {
      await status().selectOption('404')
      await log().getByText('200', { exact: true }).first().waitFor({ state: 'detached' })
      await log().getByText('/no-such-ship').waitFor()
      await page.getByRole('searchbox', { name: 'Search in requests' }).fill('nothing-like-it')
      await page.getByText('No request matches the filters').waitFor()
      await assertAccessible(page, 'no request fits')
      await page.reload()
      await page.getByText('No request matches the filters').waitFor()
      assert.equal(await status().inputValue(), '404')
      await button('Clear filters').click()
      await log().getByText('200', { exact: true }).first().waitFor()
    })

    it('reads older requests page by page', { timeout: 90_000 }, async () => {
      for (let turn = 0; turn < 60; turn += 1) await service.get(project, `/lap-${turn}`)
      await until(
        async () => (await service.client.call('listAccessLog', { params, query: { q: '/lap-59' } })).items.length > 0,
        'the last request to stand in the access log',
      )
      await open(`${at('traffic')}&q=lap-`)
      await log().getByText('/lap-59', { exact: true }).waitFor()
      assert.equal(await log().getByText('/lap-0', { exact: true }).count(), 0)
      await button('Show more').click()
      await log().getByText('/lap-0', { exact: true }).waitFor()
      await button('Show more').waitFor({ state: 'detached' })
    })

    it('shows other ranges', { timeout: 60_000 }, async () => {
      for (const [label, range] of [
        ['15 min', '15m'],
        ['7 d', '7d'],
      ] as const) {
        await page.getByRole('radio', { name: label, exact: true }).check()
        await page.getByRole('img', { name: `Requests of the last ${label} by status` }).waitFor()
        assert.match(page.url(), new RegExp(`range=${range}`))
      }
      await assertAccessible(page, 'seven days')
    })
  })

  describe('maintenance, health and logs', () => {
    it('shows visitors a page while it is in maintenance', { timeout: 60_000 }, async () => {
      await open(at('rules'))
      await page.getByLabel('Maintenance mode').check()
      await page.getByLabel('Who sees the project').fill('here')
      await page.getByLabel('Message', { exact: true }).fill('Back at noon.')
      await button('Save rules').click()
      await page.getByText('"here" is', { exact: false }).first().waitFor()
      await page.getByLabel('Who sees the project').fill('192.0.2.0/24')
      await assertLooks(page, 'maintenance')
      await button('Save rules').click()
      await page.getByRole('region', { name: 'Unsaved changes' }).waitFor({ state: 'detached' })
      await answers('harbour.localhost', 503, 'maintenance')
      await page.getByLabel('Maintenance mode').uncheck()
      await button('Save rules').click()
      await page.getByRole('region', { name: 'Unsaved changes' }).waitFor({ state: 'detached' })
      assert.notEqual((await throughProxy(service.proxyPort, 'harbour.localhost', '/')).status, 503)
    })

    it('tries a health check before it is saved', { timeout: 60_000 }, async () => {
      await open(`/projects/${project}/settings`)
      await page.getByLabel('Check over HTTP').check()
      await page.getByLabel('Path').fill('/')
      await button('Try now').click()
      await page.getByText(/It answered 200 in \d+ ms: healthy\./).waitFor()
      await page.getByLabel('Healthy statuses').fill('204')
      await button('Try now').click()
      await page.getByText('GET / answered 200, expected 204.').waitFor()
      await assertLooks(page, 'health check')
    })

    it('counts the lines of a log, and finds them among those of all projects', { timeout: 90_000 }, async () => {
      await open(`/projects/${project}/logs`)
      await button('Statistics').click()
      await page.getByText('No errors in this time.').waitFor()
      await assertLooks(page, 'log statistics')
      await page.getByRole('list', { name: 'Lines over time' }).locator('button:enabled').last().click()
      await page.waitForURL(/since=.*until=/)
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Logs', exact: true }).click()
      await page.getByLabel('Text').fill('get /')
      await button('Search').click()
      const found = page.getByRole('list', { name: 'Lines that were found' }).getByRole('link')
      await found.first().waitFor()
      await assertLooks(page, 'log search')
      await found.first().click()
      await page.waitForURL(/\/projects\/.*\/logs\?.*workload=/)
    })
  })

  it('offers a reader nothing to change, and an operator domains alone', { timeout: 120_000 }, async () => {
    for (const role of ['read', 'operate'] as const) {
      const user = { username: `rita-${role}`, password: 'look-but-do-not-touch' }
      await makeUser(page, user, role)
      const other = await launchBrowser()
      other.context.setDefaultTimeout(30_000)
      try {
        const seen = await other.page()
        const shown = (view = '') => seen.goto(`${service.url}${at(view)}`)
        await logIn(seen, service, user)
        await shown()
        await seen.getByText('comes with the project').first().waitFor()
        const offered = role === 'operate' ? 1 : 0
        assert.equal(await seen.getByRole('button', { name: 'Add domain' }).count(), offered)
        assert.equal(await seen.getByRole('button', { name: 'Remove bücher.example' }).count(), offered)
        await shown('rules')
        await seen.getByText('Only administrators change these rules.').waitFor()
        assert.equal(await seen.getByLabel('Addresses and blocks').isDisabled(), true)
        await shown('share')
        await seen.getByText('Not shared').waitFor()
        assert.equal(await seen.getByRole('button', { name: 'Start sharing' }).count(), 0)
        await assertAccessible(seen, `share for ${role}`)
      } finally {
        await other.close()
      }
    }
  })

  it('certificates: the local authority, and what is wrong with one of one’s own', { timeout: 90_000 }, async () => {
    await open('/settings/certificates')
    await page.getByText('Projects answer with http alone').waitFor()
    await row(/^harbour\.localhost harbour http alone/).waitFor()
    await assertLooks(page, 'no certificates')
    await page.getByRole('switch', { name: 'Make certificates for projects here' }).click()
    await row(/^harbour\.localhost harbour Local authority/).waitFor()
    await page.getByText('Renews itself on').first().waitFor()
    await assertLooks(page, 'certificates')

    const ca = await (await fetch(`${service.url}/api/v1/settings/tls/ca.crt`)).text()
    const { url } = await service.client.call('getProject', { params })
    assert.equal(url, `https://harbour.localhost:${httpsPort}`)
    await until(async () => (await statusOf(httpsPort, 'harbour.localhost', ca)) === 200, 'https to answer', 20_000)
    const plain = await throughProxy(service.proxyPort, 'harbour.localhost', '/a?b=c')
    assert.deepEqual([plain.status, plain.headers.location], [308, `https://harbour.localhost:${httpsPort}/a?b=c`])

    await button('Add certificate').click()
    await dialog().getByRole('textbox', { name: 'Certificate', exact: true }).fill(ca)
    await dialog().getByRole('textbox', { name: 'Private key' }).fill('-----BEGIN ENCRYPTED PRIVATE KEY-----')
    await inDialog('Add certificate').click()
    await dialog().getByText('openssl pkey -in key.pem').waitFor()
    await assertLooks(page, 'a certificate that is refused')
    await inDialog('Cancel').click()
    // Later rounds are about plain addresses.
    await page.getByRole('switch', { name: 'Make certificates for projects here' }).click()
    await page.getByText('Projects answer with http alone').waitFor()
    assert.equal(
      (await service.client.call('getProject', { params })).url,
      `http://harbour.localhost:${service.proxyPort}`,
    )
  })

  it('made no error that nobody expected', () => {
    const ids = errors.flatMap((error) => /\/(prj_\w+)/.exec(error)?.[1] ?? [])
    const expected = ['422 /api/v1/settings/tls/certificates'].concat(
      ids.flatMap((id) => [
        // A name that is none, one that is taken, and rules with mistakes.
        `422 /api/v1/projects/${id}/domains`,
        `409 /api/v1/projects/${id}/domains`,
        `422 /api/v1/projects/${id}/proxy-rules`,
        `409 /api/v1/projects/${id}/rename`,
      ]),
    )
    assert.deepEqual(
      errors.filter((error) => !expected.includes(error)),
      [],
    )
  })
})

/** Over TLS, with a trust in this authority alone. */
function statusOf(port: number, host: string, ca: string): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>()
  const asked = request(
    { host: '127.0.0.1', port, servername: host, headers: { host: `${host}:${port}` }, ca },
    (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? null)
    },
  )
  asked.on('error', () => resolve(null)).end()
  return promise
}
