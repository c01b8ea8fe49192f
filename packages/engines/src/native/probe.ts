import { statfs } from 'node:fs/promises'
import type { Readiness } from '@stackquay/engine-api'
import { userName } from './account.ts'
import { anyProject } from './accounts.ts'
import type { Machine } from './machine.ts'
import { unreachableAt } from './reach.ts'
import { nameOf } from './spawn.ts'

const LITTLE_SPACE = 512 * 1024 * 1024

/** Whether programs can be run here as the workload user. */
export async function probeMachine(machine: Machine): Promise<Readiness> {
  if (process.platform !== 'linux' && process.platform !== 'darwin') {
    return {
      ready: false,
      reason: `The native engine does not know the system "${process.platform}".`,
      hint: 'Use Linux or macOS, or the Docker engine.',
    }
  }
  const account = anyProject(machine.accounts)
  const wall = await unreachableAt(`${machine.home.data}/.`, account)
  if (wall !== null) {
    return {
      ready: false,
      reason: `The home ${machine.home.root} is under ${wall}, which ${nameOf(account)} cannot enter.`,
      hint: `Choose a home in a place that other users can reach (for example /var/lib/stackquay), or: chmod a+x ${wall}`,
    }
  }
  const user = machine.accounts.shared === undefined ? 'a user of its own for each project' : nameOf(account)
  return {
    ready: true,
    detail: `Processes of this machine, as ${user}.`,
    warnings: [...(await spaceWarnings(machine)), ...(await userWarnings(machine))],
  }
}

async function spaceWarnings(machine: Machine): Promise<string[]> {
  const disk = await statfs(machine.home.root)
  const free = disk.bavail * disk.bsize
  return free < LITTLE_SPACE
    ? [`Only ${Math.round(free / 1024 / 1024)} MB of disk are free under ${machine.home.root}.`]
    : []
}

async function userWarnings({ accounts: { shared } }: Machine): Promise<string[]> {
  if (shared === undefined || process.platform !== 'linux') return []
  const uid = shared?.uid ?? process.getuid?.() ?? -1
  if ((await userName(uid)) !== null) return []
  return [
    `The user ${uid} has no entry in /etc/passwd. Some programs, PostgreSQL among them, refuse to run as such a user.`,
  ]
}
