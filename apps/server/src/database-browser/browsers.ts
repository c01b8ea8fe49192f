import type { Purpose } from '@stackquay/catalog/browser/messages'
import { type Browser, openBrowser } from '@stackquay/catalog/browser/open-browser'
import { ProblemError } from '@stackquay/contract'

/** The processes that look into databases: one for each database that is looked into, for as long as somebody does. */
export interface Browsers {
  /** `key`: the database. With other credentials than before it is another one. */
  use(key: string, purpose: Purpose): Browser
}

interface Open {
  readonly browser: Browser
  readonly purpose: string
  usedAt: number
}

export interface BrowsersOptions {
  readonly open?: typeof openBrowser
  readonly most?: number
  readonly idleMs?: number
}

export function createBrowsers({ open = openBrowser, most = 8, idleMs = 60_000 }: BrowsersOptions = {}): Browsers {
  const known = new Map<string, Open>()
  let timer: NodeJS.Timeout | null = null

  const drop = (key: string, one: Open) => {
    if (known.get(key) === one) known.delete(key)
    void one.browser.end()
  }
  const tidy = () => {
    const now = Date.now()
    for (const [key, one] of known) {
      if (one.browser.busy() > 0) one.usedAt = now
      else if (now - one.usedAt >= idleMs) drop(key, one)
    }
    if (known.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }
  const makeRoom = () => {
    if (known.size < most) return
    const [idlest] = [...known]
      .filter(([, { browser }]) => browser.busy() === 0)
      .sort(([, one], [, other]) => one.usedAt - other.usedAt)
    if (idlest === undefined)
      throw new ProblemError(
        'unavailable',
        `${most} databases are being looked into, which is as many as there may be.`,
      )
    drop(...idlest)
  }
  return {
    use(key, purpose) {
      const text = JSON.stringify(purpose)
      const found = known.get(key)
      if (found !== undefined && found.purpose === text) {
        if (found.browser.busy() >= mostCalls)
          throw new ProblemError(
            'unavailable',
            `${mostCalls} questions to this database are under way, which is as many as there may be.`,
          )
        found.usedAt = Date.now()
        return found.browser
      }
      if (found !== undefined) drop(key, found)
      makeRoom()
      const one: Open = {
        browser: open(purpose, () => {
          if (known.get(key) === one) known.delete(key)
        }),
        purpose: text,
        usedAt: Date.now(),
      }
      known.set(key, one)
      timer ??= setInterval(tidy, Math.min(idleMs, 5_000)).unref()
      return one.browser
    },
  }
}

const mostCalls = 16
