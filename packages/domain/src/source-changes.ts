import type { Workload } from '@stackquay/engine-api'
import type { PartKind } from './resolve-parts.ts'

/** A workload that new source files make another one, and why. */
export interface SourceChange {
  readonly workload: string
  readonly title: string
  readonly because: readonly string[]
  /** Titles of what is done before it starts again: `Install dependencies (npm ci)`. */
  readonly jobs: readonly string[]
}

/**
 * What becomes of a project’s programs when these files of its source change (paths below `root`): a job runs again when a file that
 * decides about it is among them, and each program over a folder with changed files starts again. Databases and services are not made
 * of the source.
 */
export function changedBySource(
  changed: readonly string[],
  {
    root,
    workloads,
    kinds,
    sourceFiles,
  }: {
    readonly root: string
    readonly workloads: readonly Workload[]
    readonly kinds: Readonly<Record<string, PartKind>>
    /** Files that say how programs run, such as their version. */
    readonly sourceFiles: readonly string[]
  },
): readonly SourceChange[] {
  const paths = changed.map((path) => `${root}/${path}`)
  const settings = changed.filter((path) => sourceFiles.includes(path))
  return workloads.flatMap((workload) => {
    const name = workload.ref.workload
    if (kinds[name] !== 'runtime' && kinds[name] !== 'worker') return []
    const below = paths.filter((path) => isBelow(path, workload.run.cwd))
    const jobs = workload.setup.filter((job) => job.inputs.some((input) => paths.includes(input)))
    const inputs = changed.filter((path) => jobs.some((job) => job.inputs.includes(`${root}/${path}`)))
    const because = [
      ...inputs.map((path) => `${path} changes`),
      ...settings.filter((path) => !inputs.includes(path)).map((path) => `${path} changes, which says how it runs`),
      ...(below.length > 0 ? [`${below.length} ${below.length === 1 ? 'file' : 'files'} of its source`] : []),
    ]
    if (because.length === 0) return []
    return [{ workload: name, title: workload.title, because, jobs: jobs.map((job) => job.title) }]
  })
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}
