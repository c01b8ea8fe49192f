import type { Stats } from '@stackquay/contract'
import { client } from './client.ts'

type WorkloadStats = Stats['items'][number]

export interface StatsPoint {
  /** Seconds since 1970, as charts want them. */
  readonly at: number
  readonly cpu: number
  readonly memoryBytes: number
  readonly workloads: readonly WorkloadStats[]
}

export interface StatsHistory {
  readonly points: readonly StatsPoint[]
}

/** Points kept per project: ten minutes at one in two seconds. */
const keptPoints = 300
const empty: StatsHistory = { points: [] }

interface Feed {
  history: StatsHistory
  readonly listeners: Set<() => void>
  readonly stop: AbortController
  closing: ReturnType<typeof setTimeout> | null
}
const feeds = new Map<string, Feed>()

/** One stream per project however many parts of the page show it; it ends some seconds after the last of them is gone. */
export function followStats(project: string, listener: () => void): () => void {
  const feed = feeds.get(project) ?? open(project)
  if (feed.closing !== null) clearTimeout(feed.closing)
  feed.closing = null
  feed.listeners.add(listener)
  return () => {
    feed.listeners.delete(listener)
    if (feed.listeners.size > 0) return
    feed.closing = setTimeout(() => {
      feed.stop.abort()
      feeds.delete(project)
    }, 5000)
  }
}

export function statsNow(project: string): StatsHistory {
  return feeds.get(project)?.history ?? empty
}

function open(project: string): Feed {
  const feed: Feed = { history: empty, listeners: new Set(), stop: new AbortController(), closing: null }
  feeds.set(project, feed)
  client
    .followStats(project, {
      signal: feed.stop.signal,
      onStats: (items: readonly WorkloadStats[]) => {
        feed.history = { points: [...feed.history.points, pointOf(items)].slice(-keptPoints) }
        for (const listener of feed.listeners) listener()
      },
    })
    .catch(() => feeds.delete(project))
  return feed
}

function pointOf(items: readonly WorkloadStats[]): StatsPoint {
  const time = items[0]?.time
  return {
    at: (time === undefined ? Date.now() : Date.parse(time)) / 1000,
    cpu: items.reduce((sum, item) => sum + (item.cpu ?? 0), 0),
    memoryBytes: items.reduce((sum, item) => sum + item.memoryBytes, 0),
    workloads: items,
  }
}
