import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { type Browser, launchBrowser } from '@stackquay/testkit'
import type { CDPSession, Page } from 'playwright-core'
import { assertLooks, consoleErrors, makeUser, refuseUnbuiltPage } from './support/page.ts'
import { admin, type Service, startService, until } from './support/service.ts'

const grace = { username: 'grace', password: 'of the compiler' }

/** With Chromium’s own authenticator in software. Passkeys need a name, so the page is opened as `localhost`. */
describe('signing in on the page with a second factor', () => {
  let service: Service
  let browser: Browser
  let page: Page
  let url: string
  let errors: readonly string[]
  let authenticator: CDPSession
  let secret = ''
  let lastStep = 0
  let codes: readonly string[] = []
  before(async () => {
    await refuseUnbuiltPage()
    service = await startService({ env: { STACKQUAY_LOG_LEVEL: 'trace' } })
    url = service.url.replace('127.0.0.1', 'localhost')
    browser = await launchBrowser({ viewport: { width: 1280, height: 900 } })
    browser.context.setDefaultTimeout(20_000)
    page = await browser.page()
    errors = consoleErrors(page)
    authenticator = await browser.context.newCDPSession(page)
    await authenticator.send('WebAuthn.enable')
    await authenticator.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
        ...{ isUserVerified: true, automaticPresenceSimulation: true },
      },
    })
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' })
  const dialog = () => page.getByRole('dialog')
  const password = async ({ username, password: given }: { username: string; password: string } = admin) => {
    await page.goto(`${url}/login`)
    await page.getByLabel('User name').fill(username)
    await page.getByLabel('Password').fill(given)
    await button('Log in').click()
  }
  const logOut = async () => {
    await button(/^Account:/).click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await page.waitForURL(/\/login/)
  }
  /** Each opens once, so of a step after those of before: that of the next half minute is right already. */
  const freshCode = async () => {
    const now = () => Math.floor(Date.now() / 30_000)
    await until(async () => lastStep < now() + 1, 'the next code')
    lastStep = Math.max(lastStep + 1, now())
    return codeAt(secret, lastStep)
  }

  it('an app is set up by a QR code and its first code, and recovery codes are shown once', {
    timeout: 60_000,
  }, async () => {
    await password()
    await page.waitForURL(`${url}/`)
    await page.goto(`${url}/settings/second-factor`)
    await button('Set up an app').waitFor()
    await button('Set up an app').click()
    await dialog().getByLabel('Your password').fill('not this one')
    await button('Next').click()
    await dialog().getByRole('alert').waitFor()
    await dialog().getByLabel('Your password').fill(admin.password)
    await button('Next').click()
    await dialog()
      .getByRole('img', { name: /QR code/ })
      .waitFor()
    secret = ((await dialog().locator('code').textContent()) ?? '').trim()
    assert.match(secret, /^[A-Z2-7]{32}$/)
    await assertLooks(page, 'app with its QR code')
    await dialog().getByLabel('Code', { exact: true }).fill('000000')
    await button('Turn on').click()
    await dialog().getByRole('alert').getByText('The second factor does not hold').waitFor()
    await dialog()
      .getByLabel('Code', { exact: true })
      .fill(await freshCode())
    await button('Turn on').click()
    await button('I have kept them').waitFor()
    codes = ((await dialog().locator('code').textContent()) ?? '').trim().split('\n')
    assert.equal(codes.length, 10)
    await button('I have kept them').click()
    await page.getByText('10 codes are left.').waitFor()
    assert.ok(!(await page.content()).includes(codes[0]!))

    await logOut()
    await password()
    await page.getByText('Second step').waitFor()
    await assertLooks(page, 'second step with a code')
    await page.getByLabel('Code', { exact: true }).fill('000000')
    await button('Log in').click()
    await page.getByRole('alert').waitFor()
    await button('Use a recovery code').click()
    await page.getByLabel('Recovery code').fill(codes[3]!.toUpperCase())
    await button('Log in').click()
    await page.waitForURL(`${url}/`)
    await page.goto(`${url}/settings/second-factor`)
    await page.getByText('9 codes are left.').waitFor()
  })

  it('a passkey is made, is the second step, and logs in alone', { timeout: 90_000 }, async () => {
    await button('Add a passkey').click()
    await dialog().getByLabel('Name').fill('This laptop')
    await dialog().getByLabel('Your password').fill(admin.password)
    await button('Make passkey').click()
    await page.getByRole('cell', { name: 'This laptop', exact: true }).waitFor()
    await assertLooks(page, 'second factor with both')
    await logOut()
    await button('Use a passkey').waitFor()
    await button('Use a passkey').click()
    await button(/^Account:/).waitFor()
    await logOut()

    await password()
    await page.getByText('Second step').waitFor()
    await button('Use a passkey').click()
    await page.waitForURL(`${url}/`)
    await logOut()

    await password()
    await page.getByLabel('Code', { exact: true }).fill(await freshCode())
    await button('Log in').click()
    await page.waitForURL(`${url}/`)
    await page.goto(`${url}/settings/second-factor`)
    await button('Remove the passkey: This laptop').click()
    await dialog().getByLabel('Your password').fill(admin.password)
    await button('Remove passkey').click()
    await page.getByRole('cell', { name: 'This laptop', exact: true }).waitFor({ state: 'detached' })
  })

  it('whoever must have a factor is led to it; an administrator resets that of somebody else', {
    timeout: 90_000,
  }, async () => {
    await makeUser(page, grace, 'operate')
    await page.goto(`${url}/settings/general`)
    const setting = page.getByLabel('Second factor required of', { exact: true })
    await setting.selectOption('everyone')
    await page.getByLabel('Your password').fill(admin.password)
    await button(/^Save/).click()
    await page.getByLabel('Your password').waitFor({ state: 'detached' })
    await logOut()

    await password(grace)
    await page.getByRole('heading', { name: 'Set up a second factor' }).waitFor()
    await assertLooks(page, 'a factor is required')
    await page.goto(`${url}/settings/tokens`)
    await page.waitForURL(/\/enrol\?next=/)
    await button('Add a passkey').click()
    await dialog().getByLabel('Your password').fill(grace.password)
    await button('Make passkey').click()
    await button('I have kept them').click()
    await button('Continue').click()
    await page.waitForURL(`${url}/settings/tokens`)
    await logOut()

    await password()
    await button('Use a recovery code').click()
    await page.getByLabel('Recovery code').fill(codes[7]!)
    await button('Log in').click()
    await page.waitForURL(`${url}/`)
    await page.goto(`${url}/settings/users`)
    const row = page.getByRole('row', { name: /grace/ })
    await row.getByText('Passkey').waitFor()
    await assertLooks(page, 'users with factors')
    await button('Actions for grace').click()
    await page.getByRole('menuitem', { name: 'Reset second factor…' }).click()
    await dialog().getByLabel('Your password').fill(admin.password)
    await dialog().getByRole('button', { name: 'Reset', exact: true }).click()
    await row.getByText('–').first().waitFor()

    // Wrong passwords and codes, and what the page still asked for when its session was gone.
    assert.deepEqual(
      errors.filter((error) => !error.startsWith('401 ')),
      [],
    )
    assert.ok(!service.output().includes(secret), 'no log has the secret')
  })
})

/** RFC 6238, as an app does it. */
function codeAt(base32: string, step: number): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...base32].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', key).update(counter).digest()
  const number = (mac.readUInt32BE(mac[19]! & 15) & 0x7fff_ffff) % 1_000_000
  return String(number).padStart(6, '0')
}
