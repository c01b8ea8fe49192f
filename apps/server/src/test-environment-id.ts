import type { Store } from '@stackquay/store'

const ofRuns = 'run_'
const ofDrills = 'drill_'

/** Whether what the engine calls a project is data of a test run, or the copy that a restore drill looks at. */
export function isTestEnvironment(id: string): boolean {
  return id.startsWith(ofRuns) || id.startsWith(ofDrills)
}

/** What the engine calls the copy that this operation looks at. */
export function drillOf(operation: string): string {
  return ofDrills + operation.slice('op_'.length)
}

/** The project that it is for, whose user runs it; undefined when that is not known any more. */
export async function projectOfEnvironment(
  id: string,
  store: { readonly runs: Pick<Store['runs'], 'find'>; readonly operations: Pick<Store['operations'], 'find'> },
): Promise<string | undefined> {
  if (id.startsWith(ofRuns)) return (await store.runs.find(id))?.project
  return (await store.operations.find(`op_${id.slice(ofDrills.length)}`))?.project ?? undefined
}
