import { setTimeout as sleep } from 'node:timers/promises'
import type { SleepAct } from '@stackquay/domain'
import type { StepContext, WorkStep } from '@stackquay/orchestrator'
import { findProject, type OperationDeps } from './operation-deps.ts'

/** What is under way to a project that somebody puts to sleep has so long to be answered. */
const answeredMs = 5_000
const lookEveryMs = 50

/**
 * Before anything is stopped: from here on requests wait and wake the project, and those under way are answered. Where nobody asked
 * for the sleep, it is called off when the project was used meanwhile: it would only be woken again.
 */
export function holdRequests(project: string, { unusedSince }: SleepAct, deps: OperationDeps): WorkStep {
  return {
    id: `sleep:${project}`,
    title: 'Hold requests',
    run: async (context) => {
      if (!(await isToSleep(project, deps))) return
      await deps.model.renew(project)
      await deps.model.published(project)
      if (unusedSince === undefined) await answered(project, context, deps)
      else if (await wasUsed(project, unusedSince, deps)) await callOff(project, context, deps)
    },
  }
}

/** Somebody who woke, stopped or deleted it meanwhile was later. */
export async function isToSleep(project: string, { store }: Pick<OperationDeps, 'store'>): Promise<boolean> {
  return (await findProject(store, project)).desired === 'sleeping'
}

async function answered(project: string, { signal }: StepContext, deps: OperationDeps): Promise<void> {
  const deadline = Date.now() + answeredMs
  while (Date.now() < deadline) {
    const use = await useOf(project, deps)
    if (use === undefined || use.open === 0) return
    await sleep(lookEveryMs, undefined, { signal })
  }
}

async function wasUsed(project: string, unusedSince: number, deps: OperationDeps): Promise<boolean> {
  const use = await useOf(project, deps)
  return use !== undefined && (use.open > 0 || use.lastAt > unusedSince)
}

async function useOf(project: string, { proxyUses }: OperationDeps) {
  return (await proxyUses())?.find((one) => one.project === project)
}

async function callOff(project: string, { output }: StepContext, { store, model }: OperationDeps): Promise<void> {
  await store.transaction((tx) => tx.projects.setLifecycle(project, { desired: 'running' }))
  await model.renew(project)
  await model.published(project)
  output({ stream: 'stdout', text: 'It was used again, so it stays awake.\n' })
}
