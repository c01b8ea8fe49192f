import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { alive } from './alive.ts'

/** A hundred ports in a row that no other test of this machine uses. */
export interface Ports {
  readonly from: number
  release(): Promise<void>
}

/**
 * Below the ports that systems give to outgoing connections: one of those may be taken at any moment, also while a server
 * that is to come back is down.
 */
const lowest = 21_000
const highest = 32_700
const count = 100
/** Of the machine, not of a run of tests: each of those may have temporary files of its own. */
const locks = '/tmp'

export async function reservePorts(): Promise<Ports> {
  const ranges = (highest - lowest) / count
  const first = Math.floor(Math.random() * ranges)
  for (let step = 0; step < ranges; step += 1) {
    const from = lowest + ((first + step) % ranges) * count
    const lock = join(locks, `stackquay-e2e-ports-${from}`)
    if (!(await take(lock))) continue
    return { from, release: () => rm(lock, { recursive: true, force: true }) }
  }
  throw new Error(`every range of ports is taken; remove ${join(locks, 'stackquay-e2e-ports-*')}`)
}

/** Whether the lock is ours now. One whose process has ended is taken over. */
async function take(lock: string): Promise<boolean> {
  const isNew = await mkdir(lock).then(
    () => true,
    () => false,
  )
  if (!isNew) {
    const pid = Number(await readFile(join(lock, 'pid'), 'utf8').catch(() => Number.NaN))
    const made = (await stat(lock).catch(() => null))?.mtimeMs ?? Date.now()
    const isHeld = Number.isNaN(pid) ? Date.now() - made < 10_000 : alive(pid)
    if (isHeld) return false
    await rm(lock, { recursive: true, force: true })
    return take(lock)
  }
  await writeFile(join(lock, 'pid'), String(process.pid))
  return true
}
