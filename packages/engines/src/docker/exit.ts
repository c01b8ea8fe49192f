import type { Exit } from '@stackquay/engine-api'
import type { ContainerInspectInfo } from 'dockerode'
import { exitOf } from '../native/exit-status.ts'
import { pause } from '../native/time.ts'
import type { FoundContainer } from './find.ts'
import type { RunRecord } from './record.ts'

/** How long after an end Docker may say that it was for memory, and how often it is asked meanwhile. */
const LATE_MS = 1000
const AGAIN_MS = 100

/**
 * The same container, looked at again for a moment when it may have been ended for memory: Docker learns of that on another way than
 * of the end, and sometimes after it. For who waits for one container alone: it may take a second.
 */
export async function withReason<Info extends { readonly State: EndedState }>(
  info: Info,
  again: () => Promise<Info>,
  signal?: AbortSignal,
): Promise<Info> {
  let last = info
  for (let waited = 0; mayBeForMemory(last) && waited < LATE_MS && signal?.aborted !== true; waited += AGAIN_MS) {
    await pause(AGAIN_MS, signal)
    last = await again()
  }
  return last
}

interface EndedState {
  readonly Running: boolean
  readonly ExitCode: number
  readonly OOMKilled: boolean
}

const KILLED = 128 + 9

function mayBeForMemory({ State }: { readonly State: EndedState }): boolean {
  return !State.Running && State.ExitCode === KILLED && !State.OOMKilled
}

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
