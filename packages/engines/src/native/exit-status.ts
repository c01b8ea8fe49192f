import { constants } from 'node:os'
import type { Exit } from '@stackquay/engine-api'

/** How a shell reports an end by a signal: 128 and the signal's number. */
export function exitOf(status: number, at: Date): Exit {
  const signal = status > 128 ? signalName(status - 128) : null
  return signal === null
    ? { code: status, signal: null, at: at.toISOString() }
    : { code: null, signal, at: at.toISOString() }
}

/** How a child of this process ended, also where a process between the two reports signals as exit codes. */
export function exitStatus(
  { signalsAreCodes }: { readonly signalsAreCodes: boolean },
  [code, signal]: readonly [number | null, NodeJS.Signals | null],
): [number | null, NodeJS.Signals | null] {
  const named = signalsAreCodes && code !== null && code > 128 ? signalName(code - 128) : null
  return named === null ? [code, signal] : [null, named as NodeJS.Signals]
}

function signalName(number: number): string | null {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? null
}
