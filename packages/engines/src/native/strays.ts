import { EngineError } from '@stackquay/engine-api'
import type { Account } from './account.ts'
import { throwIfAborted } from './errors.ts'
import { runAs } from './isolation/as-user.ts'
import type { Machine } from './machine.ts'
import { isCommandUnit } from './marker.ts'
import { isAlive } from './process-table.ts'
import { pause } from './time.ts'

const KILL_WAIT_MS = 10_000

/**
 * Ends every process of a project that no workload's stop found: one that left its session, its parent and its environment is still its
 * user's, and in the control group that it was started in. What people run (terminals, runs) lies in groups of its own and goes on,
 * unless `commands` says otherwise or there are no groups.
 */
export async function endStrays(
  machine: Machine,
  { project, commands }: { readonly project: string; readonly commands: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { groups } = machine.isolation
  const all = commands || groups === null
  const deadline = performance.now() + KILL_WAIT_MS
  for (let wait = 2; ; wait = Math.min(wait * 2, 50)) {
    for (const unit of groups?.units(project) ?? []) {
      if (all || !isCommandUnit(unit)) groups?.unit(project, unit).kill()
    }
    const left = strays(machine, project, all)
    if (left.length === 0) break
    if (all) await killUser(machine, project)
    else for (const pid of left) kill(pid)
    await pause(wait, signal)
    throwIfAborted(signal)
    if (performance.now() > deadline) throw unkillable(left)
  }
  // A command may be about to enter one of its own.
  for (const unit of groups?.units(project) ?? [])
    if (commands || !isCommandUnit(unit)) groups?.unit(project, unit).remove()
}

function strays(machine: Machine, project: string, all: boolean): readonly number[] {
  const { groups } = machine.isolation
  const units = groups?.units(project) ?? []
  const pidsIn = (wanted: boolean) =>
    units.filter((unit) => isCommandUnit(unit) === wanted).flatMap((unit) => groups?.unit(project, unit).pids() ?? [])
  const exempt = new Set(all ? [] : pidsIn(true))
  const account = machine.accounts.known(project)
  const owned = account == null || !isProjectsAlone(machine, account) ? [] : ownedBy(machine, account.uid)
  return [...pidsIn(false), ...owned].filter((pid) => !exempt.has(pid) && isAlive(machine.table.find(pid)))
}

/** Helpers of the engine that act as this user are children of this process, which no program of a project is. */
function ownedBy({ table }: Machine, uid: number): readonly number[] {
  return table.ownedBy(new Set([uid])).filter((pid) => process.pid === 1 || table.find(pid)?.parent !== process.pid)
}

/** All of a user's processes in one call of the kernel: what multiplies cannot run away from it. */
async function killUser(machine: Machine, project: string): Promise<void> {
  const account = machine.accounts.known(project)
  if (account != null && isProjectsAlone(machine, account))
    await runAs(account, ['/bin/sh', '-c', 'kill -s KILL -- -1'])
}

/** A user that other projects or a person have too says nothing about whose a process is. */
function isProjectsAlone({ accounts }: Machine, account: Account): boolean {
  return accounts.shared === undefined && account.isOwner !== true && account.isShared !== true
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

function unkillable(left: readonly number[]): EngineError {
  return new EngineError('io_failed', `Processes ${left.join(', ')} do not end, even by SIGKILL.`, {
    hint: 'The kernel holds them, usually because of a disk that does not answer. Check mounted network disks, then try again.',
    retryable: true,
  })
}
