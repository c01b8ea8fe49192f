import type { Run, TestCase } from '@stackquay/contract'
import { secondsSince } from './format.ts'

export function isRunOver({ state }: Pick<Run, 'state'>): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled'
}

/** Seconds it took, or takes so far; null while it waits. */
export function runSeconds(run: Pick<Run, 'startedAt' | 'finishedAt' | 'durationSeconds'>, now: number): number | null {
  if (run.durationSeconds !== null) return run.durationSeconds
  if (run.startedAt === null) return null
  return secondsSince(run.startedAt, run.finishedAt === null ? now : Date.parse(run.finishedAt))
}

/** The newer of two states of one run: what has ended never runs again. */
export function newerRun(held: Run | undefined, incoming: Run): Run {
  if (held === undefined || held.id !== incoming.id) return incoming
  return isRunOver(held) && !isRunOver(incoming) ? held : incoming
}

/** `test/cart.test.js:14`, as editors understand it. */
export function placeOf({ file, line }: Pick<TestCase, 'file' | 'line'>): string | null {
  if (file === null) return null
  return line === null ? file : `${file}:${line}`
}

export interface TrendPoint {
  readonly run: Run
  readonly seconds: number | null
  readonly failed: number | null
}

/** Finished runs of one suite from the oldest to the newest. Runs of a part of it would compare what is not alike. */
export function trendOf(runs: readonly Run[], suite: string, count = 30): readonly TrendPoint[] {
  return runs
    .filter((run) => run.name === suite && run.filter === null && (run.state === 'succeeded' || run.state === 'failed'))
    .slice(0, count)
    .reverse()
    .map((run) => ({ run, seconds: run.durationSeconds, failed: run.tests?.failed ?? null }))
}

/** Items under the runtime they belong to, in the order in which each first appears; those of none come last. */
export function byRuntime<Item extends { readonly runtime: string | null }>(
  items: readonly Item[],
): readonly { readonly runtime: string | null; readonly items: readonly Item[] }[] {
  const groups = Map.groupBy(items, ({ runtime }) => runtime)
  return [...groups]
    .map(([runtime, members]) => ({ runtime, items: members }))
    .sort((one, other) => Number(one.runtime === null) - Number(other.runtime === null))
}
