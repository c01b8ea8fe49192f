import { setTimeout as delay } from 'node:timers/promises'
import { ProblemError } from '@stackquay/contract'
import { type SleepDeps, wake } from './fall-asleep-and-wake.ts'
import type { SleeperOptions } from './sleeper.ts'

/** Seconds that the proxy is listened to at a time. */
const listenSeconds = 25
/** So long nobody answers a door: then the request has its page. */
const knockMs = 60_000
const againMs = 500

/** Listens to the proxy, and wakes the projects that requests wait for. Each once at a time, however many come. */
export function openWakeCalls(
  options: Pick<SleeperOptions, 'keeper' | 'onError'> & SleepDeps,
  signal: AbortSignal,
): { readonly ended: Promise<void> } {
  const { keeper, onError } = options
  const waking = new Map<string, Promise<void>>()
  const called = (project: string) => {
    if (waking.has(project)) return
    const woken = wakeFor(project, options, signal)
      .catch((error: unknown) => onError(error, `waking ${project}`))
      .finally(() => waking.delete(project))
    waking.set(project, woken)
  }
  const listen = async () => {
    let position = 0
    while (!signal.aborted && keeper !== null) {
      const answer = await keeper
        .control()
        ?.wanted(position, listenSeconds, signal)
        .catch(() => undefined)
      if (answer === undefined) await rest(againMs, signal)
      else for (const project of answer.projects) called(project)
      // After a while all that wait are told anew: a service that was killed in between forgets none.
      position = answer === undefined || answer.projects.length === 0 ? 0 : answer.position
    }
    await Promise.all(waking.values())
  }
  return { ended: listen() }
}

/** Again while something holds the project that nothing can be merged with. */
async function wakeFor(project: string, deps: SleepDeps, signal: AbortSignal): Promise<void> {
  for (const until = Date.now() + knockMs; Date.now() < until && !signal.aborted; ) {
    try {
      await wake(project, 'request', deps)
      return
    } catch (error) {
      if (!(error instanceof ProblemError && error.code === 'busy')) throw error
    }
    await rest(againMs, signal)
  }
}

async function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined)
}
