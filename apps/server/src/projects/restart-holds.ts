import { setTimeout as sleep } from 'node:timers/promises'
import type { Change, Engine, Observed, Workload, WorkloadRef } from '@stackquay/engine-api'
import type { WorkStep } from '@stackquay/orchestrator'
import type { Routes } from './routes.ts'

/** A workload that is stopped only to be started again loses no request: new ones wait meanwhile, those under way are answered first. */
export interface RestartHolds {
  /**
   * The steps of these changes, in their order, with the entrances of what is replaced held from before the first stop until
   * it is ready again. What uses a replaced workload is held as long, because it could not answer either.
   */
  around(plan: HeldPlan, stepsOf: (change: Change) => readonly WorkStep[]): readonly WorkStep[]
  /** Requests to these wait from now on, at most half a minute unless it lasts, and those under way have been answered, or had five seconds for it. */
  hold(workloads: readonly WorkloadRef[], observed: readonly Observed[], signal: AbortSignal): Promise<void>
  /** The same for what a service that was ended in the middle of an operation left held and stopped; with the next table. */
  goOn(workloads: readonly WorkloadRef[]): void
  /**
   * What is held of the project, now and from here on, stays so until `release`, at most four minutes: for who has to see first
   * whether what came up is well. Once more does nothing. Should the service end, it is half a minute, as always.
   */
  last(project: string): void
  /** Lets go of what is still held of a project: at the end of every operation, however it ended. */
  release(project: string): Promise<void>
}

export interface HeldPlan {
  readonly project: string
  readonly changes: readonly Change[]
  readonly wanted: readonly Workload[]
  readonly observed: readonly Observed[]
}

export interface RestartHoldsOptions {
  readonly routes: Pick<Routes, 'hold'>
  readonly engine: Pick<Engine, 'address'>
  /** Resolves when the proxy has the routes as they are now, or does not answer. */
  published(): Promise<void>
  /** What the proxy has under way at an address; undefined when it does not say. */
  flights(host: string, port: number): Promise<{ readonly requests: number } | undefined>
  /** Looks at the project again, so that its routes lead to what runs now. */
  look(project: string): Promise<unknown>
  readonly now: () => Date
}

/** Longer than most programs need to come back, shorter than clients wait. */
const heldMs = 30_000
/** Shorter than the proxy waits for a program that is slow to answer. */
const lastingMs = 240_000
const renewEveryMs = 10_000
/** WebSockets are not waited for: they may last for days. */
const answeredMs = 5_000
const lookEveryMs = 20
/** For a proxy that cannot say what it has under way. */
const unknownMs = 100

export function createRestartHolds(options: RestartHoldsOptions): RestartHolds {
  const held = new Map<string, Map<string, { let(): void }>>()
  const lasting = createLasting((project) => void renew(project).catch(() => undefined), options.now)

  const hold: RestartHolds['hold'] = async (workloads, observed, signal) => {
    if (workloads.length === 0) return
    goOn(workloads)
    await options.published()
    await Promise.all(workloads.map((ref) => answered(ref, observed, signal, options)))
  }

  const goOn = (workloads: readonly WorkloadRef[]) => {
    const until = options.now().getTime() + heldMs
    for (const { project, workload } of workloads) {
      const most = lasting.until(project) ?? until
      const ofProject = held.get(project) ?? new Map<string, { let(): void }>()
      ofProject.set(workload, options.routes.hold(project, workload, Math.min(until, most)))
      held.set(project, ofProject)
    }
  }

  const renew = async (project: string) => {
    const names = [...(held.get(project)?.keys() ?? [])]
    if (names.length === 0) return
    goOn(names.map((workload) => ({ project, workload })))
    await options.published()
  }

  const release = async (project: string, workloads?: readonly string[]) => {
    const ofProject = held.get(project)
    if (ofProject === undefined) return
    const names = (workloads ?? [...ofProject.keys()]).filter((name) => ofProject.has(name))
    if (names.length === 0) return
    // Else the routes would still show it as it was while it came up.
    await options.look(project).catch(() => undefined)
    for (const name of names) {
      ofProject.get(name)?.let()
      ofProject.delete(name)
    }
    if (ofProject.size === 0) held.delete(project)
    await options.published()
  }

  return {
    hold,
    goOn,
    last: lasting.begin,
    release: (project) => {
      lasting.end(project)
      return release(project)
    },
    around: (plan, stepsOf) => {
      const { project, changes, observed } = plan
      const readyAfter = holdsOf(plan)
      const first = changes.findIndex((change) => change.type === 'replace')
      const all = [...readyAfter.values()].flat().map((workload): WorkloadRef => ({ project, workload }))
      return changes.flatMap((change, index) => {
        const steps = stepsOf(change)
        // While its image is fetched, or a hook runs before it, it still answers.
        const firstDown = steps.findIndex(({ id }) => !/^(pull|hook):/.test(id))
        return steps.map((step, at): WorkStep => {
          const begins = index === first && at === firstDown
          const back = at === steps.length - 1 ? readyAfter.get(index) : undefined
          if (!begins && back === undefined) return step
          return {
            ...step,
            run: async (context) => {
              if (begins) await hold(all, observed, context.signal)
              await step.run(context)
              if (back !== undefined && !lasting.has(project)) await release(project, back)
            },
          }
        })
      })
    },
  }
}

/** Of which projects holds last, and until when at most. */
function createLasting(renew: (project: string) => void, now: () => Date) {
  const known = new Map<string, { readonly until: number; readonly timer: NodeJS.Timeout }>()
  return {
    has: (project: string) => known.has(project),
    until: (project: string) => known.get(project)?.until,
    begin: (project: string) => {
      if (known.has(project)) return
      const timer = setInterval(() => renew(project), renewEveryMs)
      timer.unref()
      known.set(project, { until: now().getTime() + lastingMs, timer })
    },
    end: (project: string) => {
      clearInterval(known.get(project)?.timer)
      known.delete(project)
    },
  }
}

/** Ends when what is under way to the workload was answered, or had its time for it. */
async function answered(
  ref: WorkloadRef,
  observed: readonly Observed[],
  signal: AbortSignal,
  { engine, flights: flightsTo }: Pick<RestartHoldsOptions, 'engine' | 'flights'>,
): Promise<void> {
  const deadline = Date.now() + answeredMs
  for (const address of await addressesOf(ref, observed, engine)) {
    for (;;) {
      const flights = await flightsTo(address.host, address.port).catch(() => undefined)
      if (flights === undefined) await sleep(unknownMs, undefined, { signal })
      if (flights === undefined || flights.requests === 0 || Date.now() > deadline) break
      await sleep(lookEveryMs, undefined, { signal })
    }
  }
}

/** Of the program that runs now: what replaces it may have other ports. */
async function addressesOf(ref: WorkloadRef, observed: readonly Observed[], engine: Pick<Engine, 'address'>) {
  const ports = observed.find((one) => one.ref.workload === ref.workload)?.ports ?? []
  const addresses = await Promise.all(ports.map(({ name }) => engine.address(ref, name)))
  return addresses.filter((address) => address !== null)
}

/** Which workloads answer again after which change: replaced ones after their own, what uses them after the last of those. */
function holdsOf({ changes, wanted, observed }: HeldPlan): ReadonlyMap<number, readonly string[]> {
  const replacedAt = new Map<string, number>()
  for (const [index, change] of changes.entries())
    if (change.type === 'replace') replacedAt.set(change.workload.ref.workload, index)
  const byName = new Map(wanted.map((workload) => [workload.ref.workload, workload]))
  const lastOf = (name: string, seen: ReadonlySet<string> = new Set()): number => {
    if (seen.has(name)) return -1
    const uses = byName.get(name)?.dependsOn ?? []
    return Math.max(replacedAt.get(name) ?? -1, ...uses.map((used) => lastOf(used, new Set([...seen, name]))))
  }
  const after = new Map<number, string[]>()
  for (const { ref, state } of observed) {
    if (state !== 'running') continue
    const last = lastOf(ref.workload)
    if (last >= 0) after.set(last, [...(after.get(last) ?? []), ref.workload])
  }
  return after
}
