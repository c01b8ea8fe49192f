import { statfs } from 'node:fs/promises'
import { ProblemError } from '@stackquay/contract'
import type { Engine } from '@stackquay/engine-api'
import type { Config } from '../config.ts'

/** What always stays free: a database that finds no room for its next write stops. */
export const reserveBytes = 256 * 1024 * 1024

/** Throws `disk_full` where what is to be written would not fit. Both numbers are told. */
export async function requireRoom(folder: string, neededBytes: number, what: string): Promise<void> {
  refuse(await freeBytes(folder), neededBytes, what)
}

export interface DataRoom {
  readonly engine: Pick<Engine, 'freeBytes'>
  readonly config: Pick<Config, 'home'>
}

/** The same for kept data of a project, on the disk that its engine keeps it on. */
export async function requireRoomForData(
  project: string,
  neededBytes: number,
  what: string,
  { engine, config }: DataRoom,
  signal: AbortSignal,
): Promise<void> {
  // Nothing is asked where nothing is needed: an engine may have to start something for it.
  if (neededBytes === 0) return requireRoom(config.home, 0, what)
  refuse((await engine.freeBytes(project, signal)) ?? (await freeBytes(config.home)), neededBytes, what)
}

function refuse(free: number, neededBytes: number, what: string): void {
  if (neededBytes + reserveBytes <= free) return
  throw new ProblemError(
    'disk_full',
    `${what} needs up to ${bytesText(neededBytes)}, and ${bytesText(free)} are free; ${bytesText(reserveBytes)} of them stay free.`,
    { hint: 'Delete backups or other files, then try again.', extensions: { neededBytes, freeBytes: free } },
  )
}

export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

export function bytesText(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const at = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** at
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[at]}`
}
