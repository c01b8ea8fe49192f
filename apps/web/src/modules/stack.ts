import type { ProjectSummary, ProjectView } from '@stackquay/contract'
import { isObject } from '../lib/settings-changes.ts'

/** What the catalogue calls things: name to label. */
export type Labels = Readonly<Record<string, string>>

/** The runtimes and services in use, and the databases, as people read them: `Node.js 26`, `PostgreSQL 18`. */
export function stackOf(project: ProjectSummary | ProjectView, labels: Labels): readonly string[] {
  const used = Object.entries(labels).flatMap(([name, label]) => {
    const settings = project[name]
    if (!isObject(settings) || settings.enabled !== true) return []
    return [typeof settings.version === 'string' && settings.version !== '' ? `${label} ${settings.version}` : label]
  })
  const databases = Object.values(project.databases).map(
    (database) => `${labels[database.type] ?? database.type} ${database.version}`,
  )
  return [...used, ...new Set(databases)]
}

export function labelsOf(
  runtimes: readonly { readonly name: string; readonly label: string }[] | undefined,
  services: readonly { readonly name: string; readonly label: string }[] | undefined,
): Labels {
  return Object.fromEntries([...(runtimes ?? []), ...(services ?? [])].map((item) => [item.name, item.label]))
}
