import type { ExportTotals, LogExportDeps } from './keeper.ts'
import { createLineQueue, type QueuedLine, type QueueLimits } from './line-queue.ts'
import { openPositions } from './positions.ts'
import { createReaders } from './readers.ts'
import { createSending } from './sending.ts'
import { createSignal } from './signal.ts'

/** Follows logs and sends their lines. There is one while a receiver is named. */
export interface Exporter {
  /** The settings may be others. */
  renew(): Promise<void>
  waiting(): { readonly lines: number; readonly oldest: number | null }
  /** Ends with the batch that is under way, unless that takes long. It is sent again if it was not taken by then. */
  close(): Promise<void>
}

const usualLimits: QueueLimits = {
  lines: 20_000,
  units: 8 * 1024 * 1024,
  batchLines: 512,
  batchUnits: 1024 * 1024,
}
const lookMs = 1000
const closeMs = 2000

export async function openExporter(deps: LogExportDeps, totals: ExportTotals): Promise<Exporter> {
  const { now, onError, limits = usualLimits } = deps
  const queue = createLineQueue(limits)
  const positions = await openPositions(deps.store)
  const news = createSignal()
  const [ending, closing] = [new AbortController(), new AbortController()]

  const passed = (lines: readonly QueuedLine[]) => {
    const last = new Map(lines.map((line) => [`${line.projectId}/${line.workload}`, line]))
    for (const { projectId, workload, cursor } of last.values()) positions.passed(projectId, workload, cursor)
  }
  const save = () => positions.save().catch((error: unknown) => onError(error, 'noting which log lines were sent'))
  const sending = createSending(deps, { queue, limits, news, totals, passed, save })
  const readers = createReaders(deps, positions, {
    /**
     * A receiver that takes lines is waited for: what is not read stays in the logs. For one that does not, the oldest lines make
     * room, so that what comes first after a failure is not old.
     */
    async room(signal) {
      while (!queue.hasRoom() && !signal.aborted) {
        if (sending.isResting()) {
          const lost = queue.take(1)
          totals.dropped += lost.length
          totals.droppedAt = now()
          passed(lost)
        } else await news.next(signal)
      }
    },
    push(line) {
      queue.push(line)
      // The first begins a batch, and the last ends one.
      if (queue.size() === 1 || queue.size() >= limits.batchLines) news.tell()
    },
  })
  const look = () => {
    readers.renew()
    void save()
  }
  look()
  const looking = setInterval(look, lookMs).unref()
  const running = sending
    .run(closing.signal, ending.signal)
    .catch((error: unknown) => onError(error, 'sending logs out'))

  return {
    renew: async () => {
      readers.renew()
      news.tell()
    },
    waiting: () => ({ lines: queue.size(), oldest: queue.first()?.time ?? null }),
    close: async () => {
      clearInterval(looking)
      await readers.close()
      closing.abort()
      const late = setTimeout(() => ending.abort(), closeMs)
      await running
      clearTimeout(late)
      sending.close()
      await save()
    },
  }
}
