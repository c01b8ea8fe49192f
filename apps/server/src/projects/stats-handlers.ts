import { setTimeout as delay } from 'node:timers/promises'
import { ProblemError, type Stats } from '@stackquay/contract'
import type { Engine, Sample } from '@stackquay/engine-api'
import { type Accounts, sizeAsUser } from '@stackquay/engines'
import type { ProjectRow, Store } from '@stackquay/store'
import type { Handlers, StreamHandlers } from '../http/handler.ts'
import { readerOf } from './files-of.ts'

const everyMs = 2_000
/** Walking a source tree is slow: its size is measured at most so often. */
const sizesForMs = 60_000

export function statsHandlers({
  store,
  engine,
  accounts,
}: {
  readonly store: Store
  readonly engine: Engine
  readonly accounts: Pick<Accounts, 'known'>
}): Pick<Handlers, 'getProjectStats'> & Pick<StreamHandlers, 'watchProjectStats'> {
  const sizes = new Map<string, { at: number; bytes: Promise<number | null> }>()
  const samplers = new Map<string, Sampler>()

  const find = async (idOrSlug: string): Promise<ProjectRow> => {
    const row = await store.projects.find(idOrSlug)
    if (row === null) throw new ProblemError('not_found', `There is no project "${idOrSlug}".`)
    return row
  }
  const sourceSize = (row: ProjectRow) => {
    const known = sizes.get(row.id)
    if (known !== undefined && Date.now() - known.at < sizesForMs) return known.bytes
    const bytes = readerOf(accounts, row).then((account) => sizeAsUser(account, row.path))
    sizes.set(row.id, { at: Date.now(), bytes })
    return bytes
  }

  return {
    getProjectStats: async ({ params }, context) => {
      const row = await find(params.id)
      const [samples, data, sourceBytes] = await Promise.all([
        engine.stats(row.id, context.signal),
        engine.data(row.id, context.signal),
        sourceSize(row),
      ])
      const dataBytes = data.reduce((sum, one) => sum + one.sizeBytes, 0)
      return { status: 200, body: { items: samples.map(sampleView), disk: { sourceBytes, dataBytes } } }
    },
    // However many watch one project, it is sampled once.
    watchProjectStats: async ({ params }, _context, socket) => {
      const row = await find(params.id)
      const sampler = samplers.get(row.id) ?? createSampler(engine, row.id, () => samplers.delete(row.id))
      samplers.set(row.id, sampler)
      await socket.send({ type: 'start' })
      for await (const items of sampler.follow(socket.signal)) await socket.send({ type: 'stats', items })
    },
  }
}

interface Sampler {
  follow(signal: AbortSignal): AsyncIterable<Stats['items']>
}

/** Samples while anybody follows. A slow follower misses samples; it never holds up the others. */
function createSampler(engine: Engine, project: string, idle: () => void): Sampler {
  let followers = 0
  let next = Promise.withResolvers<Stats['items']>()
  let running: AbortController | null = null

  const run = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      const items = (await engine.stats(project, signal)).map(sampleView)
      const told = next
      next = Promise.withResolvers<Stats['items']>()
      told.resolve(items)
      await delay(everyMs, undefined, { signal, ref: false })
    }
  }

  return {
    follow: async function* (signal) {
      followers += 1
      if (running === null) {
        running = new AbortController()
        run(running.signal).catch(() => undefined)
      }
      const ended = Promise.withResolvers<null>()
      signal.addEventListener('abort', () => ended.resolve(null), { once: true })
      try {
        while (!signal.aborted) {
          const items = await Promise.race([next.promise, ended.promise])
          if (items === null) return
          yield items
        }
      } finally {
        followers -= 1
        if (followers === 0) {
          running?.abort()
          running = null
          idle()
        }
      }
    },
  }
}

function sampleView(sample: Sample): Stats['items'][number] {
  return {
    workload: sample.ref.workload,
    time: sample.time,
    cpu: sample.cpu,
    memoryBytes: sample.memoryBytes,
    processes: sample.processes,
    readBytes: sample.readBytes,
    writtenBytes: sample.writtenBytes,
  }
}
