import type { Store } from '@stackquay/store'
import { type Entries, type StatusEvent, tellingOf } from './model-entry.ts'

/** Tells what became of the projects whose status may have changed: as events, and to the proxy. */
export interface Telling {
  /** It is compared with what was told; while an operation goes on, a moment later. */
  touched(id: string): void
  /** Its status was told; its routes may lead elsewhere now. */
  told(id: string): void
  /** Ends when everything that was touched has been told. */
  settled(): Promise<void>
}

export interface TellingOptions {
  readonly store: Pick<Store, 'transaction'>
  /** The routes of these projects are computed anew; ends when the proxy has them. */
  publish(projects: readonly string[]): Promise<void>
  onError(error: unknown, what: string): void
  readonly now: () => Date
}

/** While an operation goes on, one thing happens after the other: so long they are gathered to be told at once. */
const gatherMs = 250
/** A script that changes one thing after the other is told of in steps of this; the first change at once. */
const burstMs = 20

export function createTelling(entries: Entries, { store, publish, onError, now }: TellingOptions): Telling {
  const touchedIds = new Set<string>()
  let telling: Promise<void> | null = null
  let later: { readonly timer: NodeJS.Timeout; readonly due: number } | null = null
  let toldAt = Number.NEGATIVE_INFINITY

  const newsOf = (id: string): readonly News[] => {
    const entry = entries.find(id)
    const told = entry === null ? null : tellingOf(entry, entries.status(id), now)
    if (entry === null || told === null) return []
    Object.assign(entry, told.after)
    entries.grow(entry)
    return [{ event: told.event, text: told.after.told }]
  }

  const tell = async () => {
    toldAt = performance.now()
    while (touchedIds.size > 0) {
      const ids = [...touchedIds]
      touchedIds.clear()
      const news = ids.flatMap(newsOf)
      await publish(ids)
      if (news.length === 0) continue
      await store.transaction(async (tx) => {
        for (const { event, text } of news) {
          const entry = entries.find(event.project)
          // The end of an operation was told meanwhile, and this is from before it.
          if (entry?.told !== text) continue
          // An end that is being written comes before this: then the project is looked at and told once more.
          entry.changes += 1
          await tx.events.append(event)
        }
      })
    }
  }

  const tellNow = () => {
    if (later !== null) clearTimeout(later.timer)
    later = null
    telling ??= new Promise<void>((done) => setImmediate(done))
      .then(tell)
      .catch((error: unknown) => onError(error, 'telling a change of status'))
      .finally(() => {
        telling = null
        if (touchedIds.size > 0) tellNow()
      })
  }

  const tellBy = (due: number) => {
    if (later !== null && later.due <= due) return
    if (later !== null) clearTimeout(later.timer)
    const wait = due - performance.now()
    if (wait <= 0) tellNow()
    else later = { timer: setTimeout(tellNow, wait).unref(), due }
  }

  return {
    touched: (id) => {
      touchedIds.add(id)
      const entry = entries.find(id)
      if (entry !== null) entries.outdate(entry)
      if ((entry?.operations.length ?? 0) === 0) tellBy(toldAt + burstMs)
      else tellBy(performance.now() + gatherMs)
    },
    told: (id) => {
      touchedIds.add(id)
      tellNow()
    },
    settled: async () => {
      if (touchedIds.size > 0) tellNow()
      while (telling !== null) await telling
    },
  }
}

interface News {
  readonly event: StatusEvent
  /** The whole status that the event is about. */
  readonly text: string
}
