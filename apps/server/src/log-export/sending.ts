import { hostname } from 'node:os'
import { exportRetrySeconds, readLogExportUrl } from '@stackquay/domain'
import { createSender } from './create-sender.ts'
import type { ExportTotals, LogExportDeps } from './keeper.ts'
import type { LineQueue, QueuedLine, QueueLimits } from './line-queue.ts'
import type { Sender, Sent } from './sender.ts'
import type { Signal } from './signal.ts'

export interface SendingParts {
  readonly queue: LineQueue
  readonly limits: QueueLimits
  readonly news: Signal
  readonly totals: ExportTotals
  /** These were taken, or given up. */
  passed(lines: readonly QueuedLine[]): void
  save(): Promise<void>
}

/** Takes lines from the queue when the receiver has them. */
export interface Sending {
  /** Between an attempt that failed and the next one. */
  isResting(): boolean
  /** Until `closing` is aborted; `ending` aborts what is under way, too. */
  run(closing: AbortSignal, ending: AbortSignal): Promise<void>
  close(): void
}

const gatherMs = 1000

export function createSending(
  { config, now, chance = Math.random, pace = 1 }: LogExportDeps,
  parts: SendingParts,
): Sending {
  const { queue, limits, news, totals } = parts
  let open: { readonly url: string; readonly sender: Sender } | null = null
  let isResting = false
  let failures = 0

  const currentSender = async (): Promise<Sender> => {
    const url = config.logExport.url ?? ''
    if (open?.url === url) return open.sender
    open?.sender.close()
    const read = readLogExportUrl(url)
    if (!read.ok) throw new Error(`The address of the receiver ${read.detail}.`)
    const { headersFile } = config.logExport
    open = { url, sender: await createSender(read.target, { hostName: hostname(), headersFile, now }) }
    failures = 0
    return open.sender
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
    parts.passed(queue.take(lines.length))
    await parts.save()
    news.tell()
  }

  const rest = async ({ reason, retryAfterSeconds }: Extract<Sent, { kind: 'failed' }>, closing: AbortSignal) => {
    failures += 1
    totals.failure = { at: now(), reason }
    const seconds = exportRetrySeconds(failures, retryAfterSeconds, chance())
    isResting = true
    news.tell()
    await news.elapsed(seconds * 1000 * pace, closing, () => open?.url === config.logExport.url)
    isResting = false
  }

  return {
    isResting: () => isResting,
    run: async (closing, ending) => {
      const isGathering = () => queue.size() < limits.batchLines
      while (!closing.aborted) {
        while (queue.size() === 0 && !closing.aborted) await news.next(closing)
        if (failures === 0) await news.elapsed(gatherMs * pace, closing, isGathering)
        if (closing.aborted) return
        const sender = await currentSender()
        const lines = queue.batch()
        const sent = await sender.send(lines, ending)
        if (sent.kind !== 'failed') await settle(lines, sent)
        else if (!closing.aborted) await rest(sent, closing)
      }
    },
    close: () => open?.sender.close(),
  }
}
