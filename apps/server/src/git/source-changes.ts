import type { Plan } from '@stackquay/contract'
import { changedBySource, type Resolved, type SourceChange } from '@stackquay/domain'
import type { Observed } from '@stackquay/engine-api'
import type { ProjectRow } from '@stackquay/store'
import { planShown } from '../backups/backup-handlers.ts'
import { workloadFiles } from '../projects/wanted-files.ts'
import { localAnswer, localText } from '../source/local-git.ts'
import { counted } from './refusals.ts'
import type { OpenRepository } from './repository.ts'
import { aheadBehind, upstreamOf } from './state.ts'

/** Files that differ between two commits; of everything where there was none before. */
export async function changedBetween(
  repository: OpenRepository,
  from: string | null,
  to: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const range =
    from === null ? ['ls-tree', '-r', '-z', '--name-only', to] : ['diff-tree', '-r', '-z', '--name-only', from, to]
  const text = (await localAnswer(repository, range, { signal, maxBytes: 32 << 20 })).toString('utf8')
  return text.split('\0').filter((path) => path !== '')
}

export async function headOf(repository: OpenRepository, signal: AbortSignal): Promise<string | null> {
  return localText(repository, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], { signal })
}

export function programsChangedBy(
  changed: readonly string[],
  { path, spec }: Pick<ProjectRow, 'path' | 'spec'>,
  { workloads, kinds }: Pick<Resolved, 'workloads' | 'kinds'>,
  observed: readonly Observed[],
): readonly SourceChange[] {
  const found = changedBySource(changed, { root: path, workloads, kinds, sourceFiles: workloadFiles(spec) })
  // What a person has stopped stays so.
  const isUp = ({ state }: Observed) => state === 'running' || state === 'waiting' || state === 'exited'
  return found.filter((one) => observed.some((now) => now.ref.workload === one.workload && isUp(now)))
}

/** What a pull would do now, by what the last fetch has shown. */
export async function planOfPull(
  repository: OpenRepository,
  row: ProjectRow,
  branch: string | null,
  known: { readonly resolved: Pick<Resolved, 'workloads' | 'kinds'>; readonly observed: readonly Observed[] },
  signal: AbortSignal,
): Promise<Plan> {
  const warnings = ['It stands on the last fetch; a pull fetches first.']
  const upstream = branch === null ? null : await upstreamOf(repository, branch, { signal })
  const [from, counts] = await Promise.all([
    headOf(repository, signal),
    upstream === null ? null : aheadBehind(repository, upstream, { signal }),
  ])
  if (upstream === null || (from !== null && counts?.behind === 0)) return planShown({ warnings })
  if (counts !== null && counts.ahead > 0)
    warnings.push(`${counted(counts.ahead, 'commit')} here alone: only a pull by merge or reset goes on.`)
  const to = `refs/remotes/${upstream}`
  const changed = await changedBetween(
    repository,
    counts !== null && counts.ahead > 0 ? await baseOf(repository, to, signal) : from,
    to,
    signal,
  )
  const programs = row.desired === 'running' ? programsChangedBy(changed, row, known.resolved, known.observed) : []
  const pull = {
    title: `Bring ${branch} to ${upstream}: ${counts === null ? 'all commits' : counted(counts.behind, 'commit')}, ${counted(changed.length, 'file')}`,
    workload: null,
    because: await subjectsOf(repository, from === null ? to : `HEAD..${to}`, signal),
  }
  const steps = programs.flatMap(({ workload, title, because, jobs }) => [
    ...jobs.map((job) => ({ title: job, workload, because: [...because] })),
    { title: `Restart ${title}`, workload, because: [...because] },
  ])
  return planShown({ steps: [pull, ...steps], restarts: programs.map(({ workload }) => workload), warnings })
}

async function baseOf(repository: OpenRepository, to: string, signal: AbortSignal): Promise<string | null> {
  return localText(repository, ['merge-base', 'HEAD', to], { signal })
}

async function subjectsOf(repository: OpenRepository, range: string, signal: AbortSignal): Promise<string[]> {
  const text = await localText(repository, ['log', '--max-count=20', '--format=%h %s', range, '--'], { signal })
  return (text ?? '').split('\n').filter((line) => line !== '')
}
