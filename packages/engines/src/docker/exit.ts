import type { Exit } from '@stackquay/engine-api'
import type { ContainerInspectInfo } from 'dockerode'
import { exitOf } from '../native/exit-status.ts'
import type { FoundContainer } from './find.ts'
import type { RunRecord } from './record.ts'

/** How a container ended; null while it runs, or when it never did. */
export function exitOfContainer({ State }: ContainerInspectInfo): Exit | null {
  if (isRunning({ State }) || State.Status === 'created') return null
  const exit = exitOf(State.ExitCode, endOf(State.FinishedAt))
  return State.OOMKilled ? { ...exit, outOfMemory: true } : exit
}

export function isRunning({ State }: Pick<ContainerInspectInfo, 'State'>): boolean {
  return State.Running || State.Paused || State.Restarting
}

/** How the run before the next one ended. */
export function observedExit(found: FoundContainer | null, record: RunRecord | null): Exit | null {
  if (found !== null) return exitOfContainer(found.info) ?? found.description?.lastExit ?? null
  return record?.lastExit ?? null
}

/** Year 1 stands for never. */
function endOf(text: string): Date {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) || date.getTime() < 0 ? new Date(0) : date
}
