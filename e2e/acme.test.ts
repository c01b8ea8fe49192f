import assert from 'node:assert/strict'
import { request } from 'node:https'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { freePort, temporaryHome, waitFor } from '@stackquay/testkit'
import { type AcmeServer, type DnsServer, serveDns, servePebble } from '@stackquay/testkit/acme-lab'
import { assertLooks, openPage } from './support/page.ts'
import { type ShownProject, showProject } from './support/shown-project.ts'

describe('certificates of an ACME authority', () => {
  const stack = new AsyncDisposableStack()
  let shown: ShownProject
  let dns: DnsServer
  let pebble: AcmeServer
  let folder: string
  let httpsPort: number
  let settings: Record<string, unknown>

  before(async () => {
    folder = stack.use(await temporaryHome()).path
    httpsPort = await freePort()
    shown = await showProject({ STACKQUAY_PROXY_HTTPS: `127.0.0.1:${httpsPort}` })
    stack.defer(() => shown.close())
    dns = stack.use(
      await serveDns(join(folder, 'dns'), {
        zones: [
          {
            name: 'example.org',
            isDynamic: true,
            records: ['shop', 'mail', 'late'].map((name) => `${name} IN A 127.0.0.1`),
          },
        ],
      }),
    )
    pebble = stack.use(
      await servePebble(join(folder, 'pebble'), {
        dnsServer: dns.address,
        httpPort: shown.service.proxyPort,
        tlsPort: httpsPort,
      }),
    )
    settings = {
      directory: pebble.directoryUrl,
      roots: pebble.roots,
      email: 'admin@example.org',
      termsAgreed: true,
      challenge: 'http-01',
      forwardedPorts: [80, 443],
      resolvers: [dns.address],
    }
  })
  after(() => stack.disposeAsync())

  // biome-ignore lint/suspicious/noExplicitAny: an answer of the API.
  const order = async (name: string): Promise<any> => {
    const { body } = await shown.api('GET', '/settings/tls/acme')
    return body.orders.find((one: { name: string }) => one.name === name)
  }
  const certificate = async (host: string) => {
    const { body } = await shown.api('GET', '/settings/tls')
    return body.certificates.find(({ names }: { names: string[] }) => names.includes(host))
  }

  it('what cannot work is refused before anything is kept', async () => {
    const { forwardedPorts: _, ...elsewhere } = settings
    const refused = await shown.api('PUT', '/settings/tls/acme', elsewhere)
    assert.equal(refused.status, 422)
    assert.equal(refused.body.errors[0].code, 'port_80_elsewhere')
    const untrusted = await shown.api('PUT', '/settings/tls/acme', { ...settings, roots: null })
    assert.equal(untrusted.status, 422)
    assert.equal(untrusted.body.errors[0].code, 'server_untrusted')
    assert.equal((await shown.api('GET', '/settings/tls/acme')).body.settings, null)
  })

  it('a name that was added gets a certificate, proved at our listener by TLS-ALPN-01, and its address says https', async () => {
    // No certificate is there yet: the listener has to speak TLS for the proof alone.
    const put = await shown.api('PUT', '/settings/tls/acme', { ...settings, challenge: 'tls-alpn-01' })
    assert.equal(put.status, 200, JSON.stringify(put.body))
    assert.equal((await shown.api('POST', '/projects/shop/domains', { host: 'shop.example.org' })).status, 201)
    await waitFor('the certificate', async () => (await order('shop.example.org'))?.state === 'valid', {
      timeoutMs: 30_000,
      everyMs: 200,
    }).catch(async (error) =>
      assert.fail(`${error} ${JSON.stringify(await order('shop.example.org'))} ${shown.service.output()}`),
    )
    const held = await certificate('shop.example.org')
    assert.equal(held.source, 'acme')
    assert.ok(held.issuer.includes('Pebble'))
    assert.ok(Date.parse(held.nextRenewal) > Date.now())
    const { body } = await shown.api('GET', '/projects/shop/domains')
    const domain = body.items.find(({ host }: { host: string }) => host === 'shop.example.org')
    assert.match(domain.url, /^https:\/\/shop\.example\.org/)
    const answer = await overTls(httpsPort, 'shop.example.org', await pebble.issuingRoot())
    assert.deepEqual([answer.status, answer.authorized], [200, true])
    assert.equal(answer.issuer?.includes('Pebble'), true)
  })

  it('HTTP-01 is proved through our proxy, and a renewal asked for takes the place of the one before', async () => {
    assert.equal((await shown.api('PUT', '/settings/tls/acme', settings)).status, 200)
    await shown.api('POST', '/projects/shop/domains', { host: 'mail.example.org' })
    await waitFor('the certificate', async () => (await order('mail.example.org'))?.state === 'valid', {
      timeoutMs: 30_000,
      everyMs: 200,
    }).catch(async (error) => assert.fail(`${error} ${JSON.stringify(await order('mail.example.org'))}`))
    const before = await certificate('mail.example.org')
    assert.equal((await shown.api('POST', '/settings/tls/acme/renew?name=mail.example.org')).status, 200)
    await waitFor(
      'another one',
      async () => (await certificate('mail.example.org'))?.fingerprint !== before.fingerprint,
      {
        timeoutMs: 30_000,
        everyMs: 200,
      },
    )
    const { body } = await shown.api('GET', '/settings/tls')
    assert.equal(
      body.certificates.filter(({ names }: { names: string[] }) => names.includes('mail.example.org')).length,
      1,
    )
    assert.equal((await shown.api('POST', '/settings/tls/acme/renew?name=none.example.org')).status, 404)
  })

  it('the page sets it up, says what is refused where it belongs, and shows how far each name is', {
    timeout: 90_000,
  }, async () => {
    assert.equal((await shown.api('DELETE', '/settings/tls/acme')).status, 204)
    const { browser, page } = await openPage(shown.service)
    stack.defer(() => browser.close())
    const dialog = page.getByRole('dialog')
    await page.goto(`${shown.service.url}/settings/certificates`)
    await page.getByText('No authority is asked').waitFor()
    await assertLooks(page, 'no acme')
    await page.getByRole('button', { name: 'Set up ACME' }).click()
    await dialog.getByLabel('Authority', { exact: true }).selectOption('other')
    await dialog.getByLabel('Address of its directory').fill(pebble.directoryUrl)
    await dialog.getByLabel(/^Root certificate/).fill(pebble.roots)
    await dialog.getByText('External account, resolvers').click()
    await dialog.getByLabel(/^DNS servers/).fill(dns.address)
    await dialog.getByLabel('I agree to the terms of the authority').check()
    await dialog.getByRole('button', { name: 'Save and ask for certificates' }).click()
    await dialog.getByText('HTTP-01 is asked at port 80, which is not the proxy’s').waitFor()
    await assertLooks(page, 'acme form')
    await dialog.getByLabel('Port 80 of the outside leads to the proxy').check()
    await dialog.getByRole('button', { name: 'Save and ask for certificates' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await page
      .getByRole('row', { name: /shop\.example\.org.*Valid/ })
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'More actions for ACME' }).click()
    await page.getByRole('menuitem', { name: 'Change…' }).click()
    await dialog.getByLabel('How names are proved').selectOption('dns-01')
    await dialog.getByLabel('DNS provider').selectOption('cloudflare')
    await assertLooks(page, 'acme form by DNS')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await shown.api('POST', '/projects/shop/domains', { host: 'lost.example.org' })
    await page.getByText('lost.example.org has no address in the DNS').first().waitFor()
    await assertLooks(page, 'acme')
  })

  it('a name that fails says why, in the words of the authority, waits, and keeps no other from its own', async () => {
    await shown.api('POST', '/projects/shop/domains', { host: 'nowhere.example.org' })
    await waitFor('the failure', async () => (await order('nowhere.example.org'))?.state === 'failing', {
      timeoutMs: 30_000,
      everyMs: 200,
    })
    const failed = await order('nowhere.example.org')
    assert.equal(failed.failure.code, 'dns_not_found')
    assert.match(failed.failure.detail, /nowhere\.example\.org has no address/)
    assert.ok(Date.parse(failed.nextAttempt) > Date.now() + 60_000)
    assert.equal((await order('shop.example.org')).state, 'valid')
  })

  it('an authority that is down leaves the certificate as it is; after a kill nothing is asked sooner', async () => {
    const before = await certificate('shop.example.org')
    await pebble.end()
    await shown.api('POST', '/projects/shop/domains', { host: 'late.example.org' })
    await waitFor('the failure', async () => (await order('late.example.org'))?.state === 'failing', {
      timeoutMs: 30_000,
      everyMs: 200,
    })
    const failed = await order('late.example.org')
    assert.equal(failed.failure.code, 'server_unreachable')
    await shown.service.kill()
    await shown.service.start()
    const later = await waitFor('the orders', () => order('late.example.org'))
    assert.deepEqual([later.failure, later.nextAttempt], [failed.failure, failed.nextAttempt])
    assert.equal((await certificate('shop.example.org')).fingerprint, before.fingerprint)
  })

  it('switched off, account and credentials are gone, and certificates stay', async () => {
    assert.equal((await shown.api('DELETE', '/settings/tls/acme')).status, 204)
    const { body } = await shown.api('GET', '/settings/tls/acme')
    assert.deepEqual([body.settings, body.orders], [null, []])
    assert.ok(await certificate('shop.example.org'))
    const { body: audit } = await shown.api('GET', '/audit?limit=100')
    const actions = audit.items.map(({ action }: { action: string }) => action)
    for (const action of ['acme.put', 'acme.delete', 'certificate.obtain']) assert.ok(actions.includes(action), action)
  })
})

interface SecureAnswer {
  readonly status: number | undefined
  readonly authorized: boolean
  readonly issuer: string | undefined
}

function overTls(port: number, servername: string, ca: string): Promise<SecureAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<SecureAnswer>()
  const asked = request(
    { host: '127.0.0.1', port, servername, ca, headers: { host: servername }, agent: false },
    (response) => {
      const { authorized, getPeerX509Certificate } = response.socket as TLSSocket
      const issuer = getPeerX509Certificate.call(response.socket)?.issuer
      response.resume().once('end', () => resolve({ status: response.statusCode, authorized, issuer }))
    },
  )
  asked.once('error', reject).end()
  return promise
}
