import type { DiagnosticCheck } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import { withoutFolder } from '../instance-backups/prepare-restored.ts'
import { findOrphans, type OrphanDeps } from './orphans.ts'

export interface RestoredCheckDeps {
  readonly engine: OrphanDeps['engine']
  readonly store: Store
}

/** After the instance was restored from a backup: what this machine has and the backup did not, and the other way round. */
export async function restoredCheck(
  { engine, store }: RestoredCheckDeps,
  signal: AbortSignal,
): Promise<readonly DiagnosticCheck[]> {
  if ((await store.instance.get('restored')) === null) return []
  const unknown = (await findOrphans({ engine, store }, signal)).map(({ id }) => id)
  const missing = (await withoutFolder(await store.projects.all())).map(({ slug }) => slug)
  if (unknown.length === 0 && missing.length === 0)
    return [check('ok', 'The instance was restored from a backup. All of its projects are here, and nothing else is.')]
  const details = [
    ...(missing.length > 0
      ? [`Projects whose folder is not here: ${listed(missing)}; they do not start by themselves.`]
      : []),
    ...(unknown.length > 0
      ? [`Here, but not known to the backup: ${listed(unknown)}; nothing of them is touched.`]
      : []),
  ]
  const hint =
    'Restore missing projects from their backups, or delete them. Remove what is not known by its id when nobody needs it.'
  return [check('warning', details.join(' '), hint)]
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, 10).join(', ')}${names.length > 10 ? ' …' : ''}`
}

function check(status: DiagnosticCheck['status'], detail: string, hint: string | null = null): DiagnosticCheck {
  return { id: 'restored', category: 'system', title: 'Restored instance', status, detail, hint, fix: null }
}
