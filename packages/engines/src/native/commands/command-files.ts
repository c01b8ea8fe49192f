import { constants, readSync } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { CommandRef, StopPolicy } from '@stackquay/engine-api'
import type { TerminalSize } from '@stackquay/engine-api/commands'
import { readJson, writeJson } from '../atomic-file.ts'
import { orNull } from '../errors.ts'
import { commandDir, type Home } from '../home.ts'
import { SEGMENTS } from './output-log-format.ts'
import { makePipes } from './pipes.ts'
import { decodeState, type ShimState, STATE_BYTES } from './shim-state.ts'

/*
 * Everything about a command lies in a directory that only the engine enters. The shim gets what it needs as open
 * descriptors, so that no program can read another one's output log or put a link in its place.
 */

/** What the engine wrote down before the shim was started. */
export interface CommandRecord {
  readonly version: 1
  readonly ref: CommandRef
  /** RFC 3339 UTC. */
  readonly startedAt: string
  readonly terminal: TerminalSize | null
  readonly stop: StopPolicy
  /** How many descriptors of pipes and segments the output log has is fixed by `version`. */
  readonly segmentBytes: number
}

export const recordPath = (directory: string): string => join(directory, 'command.json')
export const statePath = (directory: string): string => join(directory, 'state')
export const keysPath = (directory: string): string => join(directory, 'keys')
export const controlPath = (directory: string): string => join(directory, 'control')
export const segmentPaths = (directory: string): string[] =>
  Array.from({ length: SEGMENTS }, (_, at) => join(directory, `journal.${at}`))

export interface ShimFiles {
  /** From descriptor 3 on, in the order of `DESCRIPTORS`. */
  readonly handles: readonly FileHandle[]
}

/** Makes the directory and all that is in it, for a command that was never started. */
export async function makeCommandFiles(home: Home, record: CommandRecord): Promise<ShimFiles> {
  const directory = commandDir(home, record.ref)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeJson(recordPath(directory), record)
  const output = ['stdout', 'stderr'].map((stream) => join(directory, stream))
  await makePipes([keysPath(directory), controlPath(directory)], output)
  const handles: FileHandle[] = []
  const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_NONBLOCK, O_WRONLY } = constants
  const bring = async (path: string, flags: number) => void handles.push(await open(path, flags, 0o600))
  try {
    for (const path of segmentPaths(directory)) await bring(path, O_RDWR | O_CREAT | O_EXCL)
    await bring(statePath(directory), O_RDWR | O_CREAT | O_EXCL)
    await handles.at(-1)?.write(Buffer.alloc(STATE_BYTES, ' '), 0, STATE_BYTES, 0)
    // The shim opens them for reading and writing, so that a pipe without a writer does not end.
    for (const path of [keysPath(directory), controlPath(directory)]) await bring(path, O_RDWR | O_NONBLOCK)
    for (const path of output) await bring(path, O_RDONLY | O_NONBLOCK)
    for (const path of output) await bring(path, O_WRONLY)
    return { handles }
  } catch (error) {
    await Promise.all(handles.map((handle) => handle.close()))
    throw error
  }
}

export async function readCommandRecord(home: Home, ref: CommandRef): Promise<CommandRecord | null> {
  const value = await readJson(recordPath(commandDir(home, ref)))
  return typeof value === 'object' && value !== null && 'version' in value && value.version === 1
    ? (value as CommandRecord)
    : null
}

/** Null when the shim never came to start its program, or could not start it, or when there is no such command. */
export async function readShimState(home: Home, ref: CommandRef): Promise<ShimState | null> {
  const file = await orNull(open(statePath(commandDir(home, ref)), constants.O_RDONLY))
  if (file === null) return null
  try {
    return readStateOf(file)
  } finally {
    await file.close()
  }
}

export function readStateOf(file: FileHandle): ShimState | null {
  const bytes = Buffer.alloc(STATE_BYTES)
  return decodeState(bytes.subarray(0, readSync(file.fd, bytes, 0, STATE_BYTES, 0)))
}
