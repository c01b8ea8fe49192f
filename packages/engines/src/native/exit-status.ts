import { constants } from 'node:os'
import type { Exit } from '@stackquay/engine-api'

/** How a shell reports an end by a signal: 128 and the signal's number. */
export function exitOf(status: number, at: Date): Exit {
  const signal = status > 128 ? signalName(status - 128) : null
  return signal === null
    ? { code: status, signal: null, at: at.toISOString() }
    : { code: null, signal, at: at.toISOString() }
}

function signalName(number: number): string | null {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? null
}
