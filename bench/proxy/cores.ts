import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** The proxy that is measured has the first core for itself; load and upstream have another one. */
export const proxyCore = 0
export const restCore = 1

/** Asked once: what Node says depends on where it is kept itself. */
const cores = availableParallelism()

/** Keeps a process with all its threads and children on one core; null: on any. */
export function pinTo(pid: number, core: number | null): void {
  if (cores < 2) return
  const list = core === null ? `0-${cores - 1}` : String(core)
  for (const one of familyOf(pid)) {
    const { status, stderr } = spawnSync('taskset', ['-a', '-c', '-p', list, String(one)], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`taskset: ${stderr}`)
    if (pid === process.pid) return
  }
}

/** Of a process and its children, since they began; exact to ten milliseconds. */
export function cpuMicroseconds(pid: number): number {
  return familyOf(pid).reduce((sum, one) => {
    const stat = readFileSync(`/proc/${one}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return sum + (Number(fields[11]) + Number(fields[12])) * 10_000
  }, 0)
}

function familyOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...children.split(' ').filter(Boolean).map(Number)]
}
