import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type BrowserContext, chromium, type LaunchOptions, type Page } from 'playwright-core'
import { undisturbed } from './undisturbed.ts'

export interface Browser extends AsyncDisposable {
  readonly context: BrowserContext
  /** A new tab. */
  page(): Promise<Page>
  close(): Promise<void>
}

/** Nothing of it reaches out by itself, and every launch is the same. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The machine's Chromium with a profile of its own that is deleted with it. Where there is none, the error says what installs it. */
export async function launchBrowser(
  options: {
    readonly viewport?: { width: number; height: number }
    readonly locale?: string
    readonly dark?: boolean
    /** Beside Docker daemons, whose networks come and go: it hears nothing of them. */
    readonly undisturbed?: boolean
  } = {},
): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-browser-'))
  const profile = join(folder, 'profile')
  const program = options.undisturbed === true ? await undisturbed(browserProgram(), folder) : browserProgram()
  const launch: LaunchOptions = { executablePath: program, headless: true, args: flags }
  const context = await chromium.launchPersistentContext(profile, {
    ...launch,
    viewport: options.viewport ?? { width: 1280, height: 800 },
    locale: options.locale ?? 'en-GB',
    colorScheme: options.dark === true ? 'dark' : 'light',
    reducedMotion: 'reduce',
  })
  const close = async () => {
    await context.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
  return { context, page: () => context.newPage(), close, [Symbol.asyncDispose]: close }
}

/** `TEST_BROWSER`, else the first Chromium or Chrome in PATH. */
export function browserProgram(): string {
  const named = process.env.TEST_BROWSER
  if (named !== undefined && named !== '') return named
  for (const name of ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const program = join(folder, name)
      if (executable(program)) return program
    }
  }
  throw new Error(
    'No Chromium in PATH. On Debian: "apt-get install -y --no-install-recommends chromium". Else set TEST_BROWSER to a browser.',
  )
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
