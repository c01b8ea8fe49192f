import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AxeBuilder } from '@axe-core/playwright'
import { type Browser, launchBrowser } from '@stackquay/testkit'
import { isSoak } from '@stackquay/testkit/rounds'
import type { Page } from 'playwright-core'
import { admin, type Service, until } from './service.ts'

const builtPage = fileURLToPath(new URL('../../apps/web/dist/index.html', import.meta.url))
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
/** Each width and each theme; all of them together in the full count. The last one leaves the page as it was. */
const looks = [
  { isPhone: true, colorScheme: 'light', isFull: true },
  { isPhone: true, colorScheme: 'dark', isFull: false },
  { isPhone: false, colorScheme: 'dark', isFull: true },
  { isPhone: false, colorScheme: 'light', isFull: false },
] as const
const phone = { width: 390, height: 844 }

export interface OpenPage {
  readonly browser: Browser
  readonly page: Page
  readonly errors: readonly string[]
}

/** The page of a service in a browser of its own, as wide as on a desk, where the administrator is logged in. */
export async function openPage(
  service: Service,
  timeoutMs = 30_000,
  { undisturbed = false }: { readonly undisturbed?: boolean } = {},
): Promise<OpenPage> {
  await refuseUnbuiltPage()
  const browser = await launchBrowser({ viewport: { width: 1280, height: 900 }, undisturbed })
  try {
    browser.context.setDefaultTimeout(timeoutMs)
    const page = await browser.page()
    const errors = consoleErrors(page)
    await logIn(page, service)
    return { browser, page, errors }
  } catch (error) {
    await browser.close()
    throw error
  }
}

export async function refuseUnbuiltPage(): Promise<void> {
  await access(builtPage).catch(() => {
    throw new Error('The page is not built. Build it with: npm run build -w apps/web')
  })
}

export async function logIn(
  page: Page,
  { url }: Service,
  { username, password }: { username: string; password: string } = admin,
): Promise<void> {
  await page.goto(`${url}/login`)
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.waitForURL(`${url}/`)
}

/** With the session of the page that an administrator is logged in at. */
export async function makeUser(
  page: Page,
  user: { username: string; password: string },
  role: 'read' | 'operate',
): Promise<void> {
  const status = await page.evaluate(
    async (body) => {
      const key = localStorage.getItem('stackquay.session') ?? ''
      const headers = { 'content-type': 'application/json', 'x-csrf-token': key }
      return (await fetch('/api/v1/users', { method: 'POST', headers, body: JSON.stringify(body) })).status
    },
    { ...user, role },
  )
  assert.equal(status, 201)
}

export async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** `422 /api/v1/projects/…` for an answer that the console calls an error; the text of any other. */
export function consoleErrors(page: Page): readonly string[] {
  const errors: string[] = []
  page.on('console', (message) => {
    if (message.type() !== 'error') return
    const status = /responded with a status of (\d+)/.exec(message.text())?.[1]
    errors.push(status === undefined ? message.text() : `${status} ${new URL(message.location().url).pathname}`)
  })
  page.on('pageerror', (error) => errors.push(error.message))
  return errors
}

/** `assertAccessible`, and pictures of it in the folder `TEST_PICTURES`, for who wants to look. */
export async function assertLooks(page: Page, screen: string): Promise<void> {
  await assertAccessible(page, screen)
  const folder = process.env.TEST_PICTURES
  if (folder === undefined) return
  const desk = page.viewportSize()!
  for (const { width, colorScheme } of [
    { width: phone.width, colorScheme: 'dark' },
    { width: desk.width, colorScheme: 'light' },
  ] as const) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(folder, `${screen.replaceAll(' ', '-')}-${width}.png`), fullPage: true })
  }
  await page.setViewportSize(desk)
}

/** On a phone and as wide as it is, in a light and a dark theme. Leaves the page as wide as it was. */
export async function assertAccessible(page: Page, screen: string): Promise<void> {
  const found: string[] = []
  await until(async () => (await page.locator('[aria-busy=true]').count()) === 0, `${screen} to be quiet`)
  const desk = page.viewportSize()!
  for (const { isPhone, colorScheme } of looks.filter(({ isFull }) => isSoak || !isFull)) {
    const { width, height } = isPhone ? phone : desk
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const { violations } = await new AxeBuilder({ page })
      // What passed is not described: that is a third of the work.
      .options({ runOnly: { type: 'tag', values: rules }, resultTypes: ['violations'] })
      // Base UI's own: it takes the focus at the edge of a dialog and hands it on at once.
      .exclude('[data-base-ui-focus-guard]')
      // What is in a mail is its sender's, and nothing can run in its frame.
      .exclude('iframe')
      .setLegacyMode()
      .analyze()
    for (const { id, nodes } of violations)
      found.push(...nodes.map((node) => `${id} at ${width} px, ${colorScheme}: ${node.html} ${node.any[0]?.message}`))
    const { clientWidth, scrollWidth } = await page.evaluate(() => document.documentElement)
    if (scrollWidth > clientWidth) found.push(`wider than the screen of ${width} px: ${scrollWidth} px`)
  }
  assert.deepEqual(found, [], screen)
}
