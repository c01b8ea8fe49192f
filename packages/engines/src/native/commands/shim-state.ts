import { crc32 } from 'node:zlib'
import type { CommandState, TerminalSize } from '@stackquay/engine-api/commands'
import type { Leader } from '../family.ts'

/**
 * What the shim knows of its command. Two slots in a file of fixed size, written in turn and in place: there is always
 * a whole one, and the end can be written down on a full disk.
 */
export interface ShimState {
  /** Grows with every writing. */
  readonly number: number
  /** The shim. The field is on disk, and keeps the name of the first version. */
  readonly holder: Leader
  /** Null where the program is no process of this machine, and while it is being started: from then on it counts as one that ran. */
  readonly program: Leader | null
  readonly size: TerminalSize | null
  readonly ended: {
    readonly exit: NonNullable<CommandState['exit']>
    readonly cause: NonNullable<CommandState['cause']>
  } | null
}

const SLOT = 2048
export const STATE_BYTES = 2 * SLOT

export function encodeState(state: ShimState): { readonly bytes: Buffer; readonly at: number } {
  const text = JSON.stringify(state)
  const bytes = Buffer.alloc(SLOT, ' ')
  bytes.write(`${crc32(text)} ${text}\n`)
  return { bytes, at: (state.number % 2) * SLOT }
}

/** The newest whole slot; null when none was written yet. */
export function decodeState(bytes: Buffer): ShimState | null {
  const slots = [slot(bytes.subarray(0, SLOT)), slot(bytes.subarray(SLOT))].filter((found) => found !== null)
  return slots.sort((a, b) => b.number - a.number)[0] ?? null
}

function slot(bytes: Buffer): ShimState | null {
  const line = bytes.toString('utf8').split('\n', 1)[0] ?? ''
  const [sum = '', ...rest] = line.split(' ')
  const text = rest.join(' ')
  return text !== '' && sum === String(crc32(text)) ? (JSON.parse(text) as ShimState) : null
}
