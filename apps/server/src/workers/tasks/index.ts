/** What threads can do. The code of a task is read by the thread that is asked for it. */
export interface Tasks {
  addon: typeof import('./addon.ts').run
  json: typeof import('./json.ts').run
  logCounts: typeof import('./log-counts.ts').run
  manifest: typeof import('./manifest.ts').run
  match: typeof import('./match.ts').run
  results: typeof import('./results.ts').run
}

export type TaskName = keyof Tasks
export type TaskInput<Name extends TaskName> = Parameters<Tasks[Name]>[0]
export type TaskOutput<Name extends TaskName> = ReturnType<Tasks[Name]>

const loaders: { readonly [Name in TaskName]: () => Promise<{ readonly run: Tasks[Name] }> } = {
  addon: () => import('./addon.ts'),
  json: () => import('./json.ts'),
  logCounts: () => import('./log-counts.ts'),
  manifest: () => import('./manifest.ts'),
  match: () => import('./match.ts'),
  results: () => import('./results.ts'),
}

export async function loadTask(name: TaskName): Promise<(input: never) => unknown> {
  return (await loaders[name]()).run as (input: never) => unknown
}
