import type { Plan, Release } from '@stackquay/contract'
import { releaseDifferences, releaseOf } from '@stackquay/domain'
import type { DeployRow, ProjectRow } from '@stackquay/store'
import { planShown } from '../backups/backup-handlers.ts'
import { counted } from '../git/refusals.ts'
import type { OpenRepository, Repositories } from '../git/repository.ts'
import { changedBetween, headOf, programsChangedBy } from '../git/source-changes.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { workloadFiles } from '../projects/wanted-files.ts'
import { localGit } from '../source/local-git.ts'
import { hashesOf, maxBytesEach, type ReleaseDeps, sha256, unread } from './release-now.ts'

export interface PlanRollbackDeps extends ReleaseDeps, Pick<ChangeDeps, 'resolver'> {
  readonly repositories: Repositories
}

/** What going back to a commit would do, and what of its release would not come back with it. */
export async function planOfRollback(
  row: ProjectRow,
  to: string,
  past: DeployRow | null,
  deps: PlanRollbackDeps,
  signal: AbortSignal,
): Promise<Plan> {
  const repository = await deps.repositories.open(row, signal)
  const resolved = (await deps.resolver.look(row, [row.spec], 'now'))(row.spec)
  const observed = deps.observations.of(row.id)
  const head = await headOf(repository, signal)
  const changed = head === to ? [] : await changedBetween(repository, head, to, signal)
  const programs = row.desired === 'running' ? programsChangedBy(changed, row, resolved, observed) : []
  const move = {
    title: `Bring ${to.slice(0, 10)}: ${counted(changed.length, 'file')}`,
    workload: null,
    because: past === null ? [] : [`deploy ${past.id}`],
  }
  const steps = programs.flatMap(({ workload, title, because, jobs }) => [
    ...jobs.map((job) => ({ title: job, workload, because: [...because] })),
    { title: `Restart ${title}`, workload, because: [...because] },
  ])
  const differences = async ({ release }: { readonly release: Release }) => {
    // Files that come back may name another version.
    const isSameVersion = !changed.some((path) => workloadFiles(row.spec).includes(path))
    const versions = isSameVersion ? resolved.versions : {}
    const paths = Object.keys(release.installedFrom)
    const installedFrom = await filesAt(repository, { to, changed, paths }, row, deps, signal)
    const now = releaseOf({ generation: row.generation, installedFrom }, { ...resolved, versions }, observed)
    return releaseDifferences(release, now).map((text) => `Not as then: ${text}`)
  }
  const warnings =
    past?.release == null
      ? ['It was not written down what this commit ran with.']
      : await differences({ release: past.release }).catch(() => {
          signal.throwIfAborted()
          // Who has to go back is not kept from it.
          return ['It cannot be told what would not be as with this release.']
        })
  return planShown({
    steps: head === to ? [] : [move, ...steps],
    restarts: programs.map(({ workload }) => workload),
    warnings: [...warnings, 'No data goes back.'],
  })
}

/** The hashes of files as they would be: of the commit where it brings another content, else as they are in the folder. */
async function filesAt(
  repository: OpenRepository,
  {
    to,
    changed,
    paths,
  }: { readonly to: string; readonly changed: readonly string[]; readonly paths: readonly string[] },
  row: ProjectRow,
  { filesOf }: Pick<ReleaseDeps, 'filesOf'>,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const brought = paths.filter((path) => changed.includes(path))
  const found: [string, string][] = []
  for (const path of brought) {
    const options = { signal, maxBytes: maxBytesEach, cuts: true }
    const { code, stdout, isCut } = await localGit(repository, ['cat-file', 'blob', `${to}:${path}`], options)
    // Else it goes.
    if (code === 0) found.push([path, isCut ? unread : sha256(stdout)])
  }
  const stays = paths.filter((path) => !brought.includes(path))
  return { ...Object.fromEntries(found), ...(await hashesOf(row, stays, filesOf)) }
}
