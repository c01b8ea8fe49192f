import { hostname } from 'node:os'
import { exportRetrySeconds, readLogExportUrl } from '@stackquay/domain'
import type { ExportTotals, LogExportDeps } from './keeper.ts'
import { createLineQueue, type QueuedLine, type QueueLimits } from './line-queue.ts'
import { openPositions } from './positions.ts'
import { createReaders } from './readers.ts'
import { createSender, type Sender, type Sent } from './sender.ts'
import { createSignal } from './signal.ts'

/** Follows logs and sends their lines. There is one while a receiver is named. */
export interface Exporter {
  /** The settings may be others. */
  renew(): Promise<void>
  waiting(): { readonly lines: number; readonly oldest: number | null }
  /** Ends with the batch that is under way, unless that takes long. It is sent again if it was not taken by then. */
  close(): Promise<void>
}

export const usualLimits: QueueLimits = {
  lines: 20_000,
  units: 8 * 1024 * 1024,
  batchLines: 512,
  batchUnits: 1024 * 1024,
}
const gatherMs = 1000
const lookMs = 1000
const closeMs = 2000

export async function openExporter(deps: LogExportDeps, totals: ExportTotals): Promise<Exporter> {
  const { config, now, onError, limits = usualLimits, chance = Math.random } = deps
  const queue = createLineQueue(limits)
  const positions = await openPositions(deps.store)
  const news = createSignal()
  const [ending, closing] = [new AbortController(), new AbortController()]
  let sender: Sender | null = null
  let senderUrl: string | null = null
  /** Between an attempt that failed and the next one. */
  let isResting = false
  let failures = 0

  const passed = (lines: readonly QueuedLine[]) => {
    const last = new Map(lines.map((line) => [`${line.projectId}/${line.workload}`, line]))
    for (const { projectId, workload, cursor } of last.values()) positions.passed(projectId, workload, cursor)
  }
  const save = () => positions.save().catch((error: unknown) => onError(error, 'noting which log lines were sent'))
  const readers = createReaders(deps, positions, {
    /**
     * A receiver that takes lines is waited for: what is not read stays in the logs. For one that does not, the oldest lines make
     * room, so that what comes first after a failure is not old.
     */
    async room(signal) {
      while (!queue.hasRoom() && !signal.aborted) {
        if (isResting) {
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

  const currentSender = async (): Promise<Sender> => {
    const url = config.logExport.url ?? ''
    if (sender !== null && senderUrl === url) return sender
    sender?.close()
    const read = readLogExportUrl(url)
    if (!read.ok) throw new Error(`The address of the receiver ${read.detail}.`)
    sender = await createSender(read.target, {
      hostName: hostname(),
      headersFile: config.logExport.headersFile,
      now,
    })
    senderUrl = url
    failures = 0
    return sender
  }

  const settle = async (lines: readonly QueuedLine[], sent: Exclude<Sent, { kind: 'failed' }>) => {
    const lost = sent.kind === 'refused' ? lines.length : Math.min(sent.rejected, lines.length)
    totals.lines += lines.length - lost
    totals.dropped += lost
    if (lost > 0) {
      totals.droppedAt = now()
      totals.refusal = { at: now(), reason: sent.reason || 'The receiver gave no reason.' }
    }
    if (sent.kind === 'taken') totals.sentAt = now()
    totals.failure = null
    failures = 0
    passed(queue.take(lines.length))
    await save()
    news.tell()
  }

  const rest = async (sent: Extract<Sent, { kind: 'failed' }>) => {
    failures += 1
    totals.failure = { at: now(), reason: sent.reason }
    const seconds = exportRetrySeconds(failures, sent.retryAfterSeconds, chance())
    isResting = true
    news.tell()
    await news.elapsed(seconds * 1000 * (deps.pace ?? 1), closing.signal, () => senderUrl === config.logExport.url)
    isResting = false
  }

  const send = async () => {
    while (!closing.signal.aborted) {
      while (queue.size() === 0 && !closing.signal.aborted) await news.next(closing.signal)
      const isGathering = () => queue.size() < limits.batchLines
      if (failures === 0) await news.elapsed(gatherMs * (deps.pace ?? 1), closing.signal, isGathering)
      if (closing.signal.aborted) return
      const lines = queue.batch()
      const sent = await (await currentSender()).send(lines, ending.signal)
      if (sent.kind !== 'failed') await settle(lines, sent)
      else if (!closing.signal.aborted) await rest(sent)
    }
  }
  const look = () => {
    readers.renew()
    void save()
  }
  look()
  const looking = setInterval(look, lookMs).unref()
  const sending = send().catch((error: unknown) => onError(error, 'sending logs'))

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
      await sending
      clearTimeout(late)
      sender?.close()
      await save()
    },
  }
}
