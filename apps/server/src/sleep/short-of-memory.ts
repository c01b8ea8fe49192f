import { type SleepSpec, sleepForMemory, type UseFacts } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { ProjectRow, Store } from '@stackquay/store'
import type { Model } from '../projects/model.ts'

/** How much the programs of all projects may take together before those that may sleep do so early. */
export interface MemoryForAwake {
  /** Null: however much. */
  readonly mostBytes: () => number | null
  readonly engine: Pick<Engine, 'stats'>
}

interface Options {
  readonly memory: MemoryForAwake
  readonly store: Pick<Store, 'operations'>
  readonly model: Pick<Model, 'all'>
  readonly now: () => Date
}

/** Which of those that nobody uses right now sleep before their time. `due` sleep anyway, and are not counted. */
export async function shortOfMemory(
  unused: readonly { readonly row: ProjectRow; readonly sleep: SleepSpec; readonly facts: UseFacts }[],
  due: readonly string[],
  { memory, store, model, now }: Options,
): Promise<readonly string[]> {
  const mostBytes = memory.mostBytes()
  if (mostBytes === null || unused.length === due.length) return []
  // What is on its way to sleep takes nothing soon: counted, another would sleep in its place.
  const unfinished = await store.operations.unfinished()
  const falling = [...due, ...unfinished.filter(({ kind }) => kind === 'sleep').map(({ project }) => project)]
  const others = model.all().filter(({ row }) => row.desired === 'running' && !falling.includes(row.id))
  const projects = await Promise.all(
    others.map(async ({ row: { id } }) => {
      // What cannot be looked at is not known to take anything.
      const samples = await memory.engine.stats(id, AbortSignal.timeout(mostLookMs)).catch(() => [])
      const bytes = samples.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
      return { id, bytes, idle: unused.find(({ row }) => row.id === id) ?? null }
    }),
  )
  return sleepForMemory(projects, mostBytes, now())
}

const mostLookMs = 5_000
