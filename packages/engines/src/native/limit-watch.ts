import type { Exit, Observed } from '@stackquay/engine-api'
import type { ControlGroup } from './isolation/control-groups.ts'

const LOOK_MS = 2000
/** A program that dies of the end of one of its processes does so within this. */
const CONSEQUENCE_MS = 5000

export type Limited = NonNullable<Observed['limited']>

/** What limits do to a run while it lives. On version 1 the kernel does not report it, so a timer looks now and then. */
export interface LimitWatch {
  now(): Limited | null
  /** The end of the run, with its cause when that is memory. */
  end(exit: Exit): Exit
  close(): void
}

export function watchLimits(group: ControlGroup | null, changed: () => void): LimitWatch {
  if (group === null) return { now: () => null, end: (exit) => exit, close() {} }
  let kills = group.outOfMemory()
  let refused = group.refusedProcesses() > 0
  let lastKill = Number.NEGATIVE_INFINITY
  const look = () => {
    const before = { kills, refused }
    kills = group.outOfMemory()
    refused = group.refusedProcesses() > 0
    if (kills > before.kills) lastKill = performance.now()
    if (kills !== before.kills || refused !== before.refused) changed()
  }
  const timer = setInterval(look, LOOK_MS).unref()
  return {
    now: () => (kills === 0 && !refused ? null : { outOfMemory: kills, processes: refused }),
    end(exit) {
      if (group.outOfMemory() > kills) lastKill = performance.now()
      return limitedExit(exit, group, performance.now() - lastKill < CONSEQUENCE_MS)
    },
    close: () => clearInterval(timer),
  }
}

/** An end with its limits as the cause, where they were. A program that ended well was not ended for them, whatever became of its children. */
export function limitedExit(exit: Exit, group: ControlGroup | null, ranOut = (group?.outOfMemory() ?? 0) > 0): Exit {
  if (group === null || exit.code === 0) return exit
  if (ranOut) return { ...exit, outOfMemory: true }
  return group.refusedProcesses() > 0 ? { ...exit, outOfProcesses: true } : exit
}
