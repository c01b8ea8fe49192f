import { type LogExportTarget, readLogExportUrl } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { Model } from '../projects/model.ts'
import type { Exporter } from './exporter.ts'
import type { QueueLimits } from './line-queue.ts'
import { forgetPositions } from './positions.ts'

export interface LogExportDeps {
  readonly store: Pick<Store, 'settings' | 'transaction'>
  readonly engine: Pick<Engine, 'logBatches'>
  readonly model: Pick<Model, 'all' | 'find'>
  readonly config: Pick<Config, 'logExport'>
  readonly now: () => Date
  onError(error: unknown, what: string): void
  /** For tests: smaller queues, shorter waits, and what is otherwise chance. */
  readonly limits?: QueueLimits
  readonly pace?: number
  readonly chance?: () => number
}

interface Told {
  readonly at: Date
  readonly reason: string
}

/** Since the service started. */
export interface ExportTotals {
  /** Taken by the receiver. */
  lines: number
  /** Given up, because the receiver was away for too long or refused them. */
  dropped: number
  sentAt: Date | null
  droppedAt: Date | null
  /** Why nothing is taken now; null: the last attempt was. */
  failure: Told | null
  /** Why lines were refused the last time. */
  refusal: Told | null
}

export interface LogExportState extends Readonly<ExportTotals> {
  /** Null: off. */
  readonly target: LogExportTarget | null
  readonly waiting: { readonly lines: number; readonly oldest: number | null }
}

export interface LogExportKeeper {
  state(): LogExportState
  /** The settings are others: begins, goes on elsewhere, or ends. */
  renew(): Promise<void>
  close(): Promise<void>
}

/** Sends lines of logs out while a receiver is named; otherwise it does nothing, and nothing of it is loaded. */
export function openLogExport(deps: LogExportDeps & { readonly ready: Promise<void> }): LogExportKeeper {
  const { store, config, ready, onError } = deps
  const totals: ExportTotals = { lines: 0, dropped: 0, sentAt: null, droppedAt: null, failure: null, refusal: null }
  let exporter: Exporter | null = null
  let isClosed = false
  let last: Promise<unknown> = Promise.resolve()

  const end = async () => {
    await exporter?.close()
    exporter = null
    totals.failure = null
  }
  const follow = async () => {
    if (isClosed) return
    if (config.logExport.url === null) {
      await end()
      await forgetPositions(store)
    } else if (exporter !== null) await exporter.renew()
    else exporter = await (await import('./exporter.ts')).openExporter(deps, totals)
  }
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const mine = last.then(work)
    last = mine.catch((error: unknown) => onError(error, 'sending logs out'))
    return mine.catch(() => undefined)
  }
  // Why the projects were not found is told elsewhere.
  void ready.then(() => inTurn(follow)).catch(() => undefined)

  return {
    state: () => {
      const read = config.logExport.url === null ? null : readLogExportUrl(config.logExport.url)
      const target = read?.ok === true ? read.target : null
      return { ...totals, target, waiting: exporter?.waiting() ?? { lines: 0, oldest: null } }
    },
    renew: async () => {
      await ready.catch(() => undefined)
      await inTurn(follow)
    },
    close: async () => {
      isClosed = true
      await inTurn(end)
    },
  }
}
