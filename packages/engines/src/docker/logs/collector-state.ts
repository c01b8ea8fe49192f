import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { WorkloadRef } from '@stackquay/engine-api'
import { isMissing } from '../../native/errors.ts'
import { type Home, logsDir } from '../../native/home.ts'

/** How far the output of a container is stored: what lies behind in the files was never finished. */
export interface CollectorState {
  /** Grows with every writing. */
  readonly number: number
  /** The log's id. */
  readonly log: string
  /** Id of the container. */
  readonly container: string
  readonly stdout: StreamState
  readonly stderr: StreamState
  /** All that the container will ever have printed is stored. */
  readonly done: boolean
}

export interface StreamState {
  /** Docker's time of the last message, as Docker writes it; empty before the first. */
  readonly time: string
  /** How many messages of that very time there were. */
  readonly count: number
  /** Of the file. */
  readonly size: number
}

export const nothingYet: StreamState = { time: '', count: 0, size: 0 }

const SLOT = 512

const statePath = (home: Home, ref: WorkloadRef) => join(logsDir(home, ref), 'collected')
export const collectorLock = (home: Home, ref: WorkloadRef) => join(logsDir(home, ref), 'collected.lock')

/** Null when nothing was ever collected for it. */
export function readState(home: Home, ref: WorkloadRef): CollectorState | null {
  let bytes: Buffer
  try {
    bytes = readFileSync(statePath(home, ref))
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
  const slots = [decode(bytes.subarray(0, SLOT)), decode(bytes.subarray(SLOT))].filter((slot) => slot !== null)
  return slots.sort((a, b) => b.number - a.number)[0] ?? null
}

export interface StateFile {
  /** Whole or not at all, whatever is killed in between. */
  write(state: CollectorState): void
  close(): void
}

/** Two slots that are written in turn and in place: there is always a whole one, and a full disk does not matter. */
export async function openState(home: Home, ref: WorkloadRef): Promise<StateFile> {
  await mkdir(logsDir(home, ref), { recursive: true, mode: 0o700 })
  const descriptor = openFile(statePath(home, ref))
  return {
    write(state) {
      const bytes = Buffer.alloc(SLOT, ' ')
      const text = JSON.stringify(state)
      bytes.write(`${crc32(text)} ${text}\n`)
      writeSync(descriptor, bytes, 0, SLOT, (state.number % 2) * SLOT)
    },
    close: () => closeSync(descriptor),
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, 'r+')
  } catch (error) {
    if (!isMissing(error)) throw error
    return openSync(path, 'w+', 0o600)
  }
}

function decode(bytes: Buffer): CollectorState | null {
  const line = bytes.toString('utf8').split('\n', 1)[0] ?? ''
  const space = line.indexOf(' ')
  const text = line.slice(space + 1)
  return text !== '' && line.slice(0, space) === String(crc32(text)) ? (JSON.parse(text) as CollectorState) : null
}
