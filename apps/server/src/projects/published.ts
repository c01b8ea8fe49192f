import { setTimeout as sleep } from 'node:timers/promises'
import type { Routes } from './routes.ts'

/** Ends when the proxy has the routes of these projects as they are now, or of all that changed; one that does not answer gets them later. */
export type Published = (...projects: readonly string[]) => Promise<void>

/** How long a change of the network waits for the proxy. */
const publishMs = 5_000

export function createPublished(routes: Pick<Routes, 'publish'>, life: AbortSignal): Published {
  return async (...projects) => whenTold(routes.publish(projects), life)
}

/** The same for the whole table, after settings changed that stand in it. */
export function createPublishedTable(routes: Pick<Routes, 'publishTable'>, life: AbortSignal): () => Promise<void> {
  return () => whenTold(routes.publishTable(), life)
}

async function whenTold(told: Promise<void>, life: AbortSignal): Promise<void> {
  const enough = sleep(publishMs, undefined, { ref: false, signal: life }).catch(() => undefined)
  await Promise.race([told, enough])
}
