import { existsSync } from 'node:fs'
import type { AccessLog } from './access/access-log.ts'
import { log } from './log.ts'
import type { Serving } from './workers/serving.ts'

/** Drops access logs that belong to no project any more, or are too old. The first look is soon: a proxy may be restarted every day. */
export function sweepHourly(access: AccessLog, serving: Serving): NodeJS.Timeout {
  const sweep = () => {
    const kept = new Set(serving.table.routes.map(({ project }) => project.id))
    access
      .sweep(kept)
      .catch((error: unknown) => log('old access logs could not be removed', { reason: (error as Error).message }))
  }
  setTimeout(sweep, 60_000).unref()
  return setInterval(sweep, 3_600_000).unref()
}

/** A full disk fails every write; one line a minute is enough. */
export function reportNowAndThen(): (error: unknown, lines: number) => void {
  let since = 0
  let lost = 0
  return (error, lines) => {
    lost += lines
    if (Date.now() - since < 60_000) return
    log('the access log could not be written; requests are served all the same', {
      reason: (error as Error).message,
      lines: lost,
    })
    since = Date.now()
    lost = 0
  }
}

/** A deleted home means that the proxy is to end too: the socket that could say so is deleted with it. */
export function whenGone(home: string, shutdown: () => Promise<void>): void {
  const timer = setInterval(() => {
    if (existsSync(home)) return
    clearInterval(timer)
    log('the home is gone', { home })
    void shutdown()
  }, 2_000)
  timer.unref()
}
