import type { DiagnosticCheck } from '@stackquay/contract'
import type { HistoryState } from '../metrics/history.ts'

/** Whether the history of metrics is written. */
export function metricsCheck({ bytes, fault, damaged }: HistoryState): DiagnosticCheck {
  const made = { id: 'metrics', category: 'storage', title: 'History of metrics', fix: null } as const
  if (fault !== null) {
    const hint = 'Projects run on; what they use is not written meanwhile. It is tried again every minute.'
    return { ...made, status: 'warning', detail: fault, hint }
  }
  if (damaged !== null) {
    const detail = `It was damaged and began anew. The old file is ${damaged}.`
    return { ...made, status: 'warning', detail, hint: 'Check the disk. Delete that file when you need it no more.' }
  }
  return { ...made, status: 'ok', detail: `It uses ${(bytes / 1e6).toFixed(1)} MB of disk.`, hint: null }
}
