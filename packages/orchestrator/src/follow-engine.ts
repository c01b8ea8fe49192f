import { setTimeout as sleep } from 'node:timers/promises'
import type { OrchestratorOptions } from './orchestrator.ts'
import type { Supervisor } from './supervisor.ts'

const followAgainMs = 1_000

/**
 * Hands what an engine tells to the supervisor, until life ends. An engine whose events break off is followed again: without them nothing
 * that crashed would be started.
 */
export async function followEngine(
  { engine, observations, life, projects, onError }: OrchestratorOptions,
  supervisor: Supervisor,
  listeners: readonly (() => Promise<void>)[],
): Promise<void> {
  /** One that cannot be looked at says so in its status. */
  const lookAtAll = () => Promise.allSettled(projects().map((project) => observations.refresh(project)))
  const cameBack = () => Promise.all(listeners.map((listener) => listener()))
  while (!life.signal.aborted) {
    try {
      for await (const event of engine.watch(life.signal)) {
        if (event.type === 'unreachable' || event.type === 'reachable') {
          void lookAtAll()
            .then(() => (event.type === 'reachable' ? cameBack() : undefined))
            .catch((error: unknown) => onError(error, `the engine is ${event.type}`))
          continue
        }
        supervisor.handle(event).catch((error: unknown) => {
          if (!life.signal.aborted) onError(error, `event ${event.type}`)
        })
      }
      return
    } catch (error) {
      if (life.signal.aborted) return
      onError(error, 'following the engine')
      await sleep(followAgainMs, undefined, { ref: false })
    }
  }
}
