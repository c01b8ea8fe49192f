import type { UserFiles } from '@stackquay/engines'
import type { ProjectRow } from '@stackquay/store'
import type { Config } from '../config.ts'
import { revokeFolder } from './grant-folder.ts'
import { removeIpcObjects } from './ipc-objects.ts'
import type { InstanceIsolation } from './isolation.ts'

/** What the service does as a project's user, and what it gave that user, taken back. */
export interface Leaving {
  /** Ends what acts as the project's user for the service. */
  release(project: string): Promise<void>
  /** Of a project that is gone: takes its access to a folder of somebody else away. */
  leave(project: Pick<ProjectRow, 'id' | 'path'>): Promise<void>
  /** The same, and its user. */
  retire(project: Pick<ProjectRow, 'id' | 'path'>): Promise<void>
}

export function createLeaving({
  isolation: { accounts, users },
  files,
  config,
  onError,
}: {
  readonly isolation: Pick<InstanceIsolation, 'accounts' | 'users'>
  readonly files: Pick<UserFiles, 'release'>
  readonly config: Pick<Config, 'projectsDir'>
  onError(error: unknown, what: string): void
}): Leaving {
  const release = async (project: string) => {
    const account = accounts.known(project)
    if (account != null && accounts.shared === undefined) await files.release(account)
  }
  const leave: Leaving['leave'] = async ({ id: project, path }) => {
    await release(project)
    const account = accounts.known(project)
    // A user that stays for what is in the trash has no programs any more. One that is a person's has others.
    if (account != null && users !== null && account.isOwner !== true && account.isShared !== true)
      await removeIpcObjects(account)
    if (account != null && users !== null && !path.startsWith(`${config.projectsDir}/`))
      await revokeFolder(path, account).catch((error: unknown) => onError(error, 'taking access to a folder away'))
  }
  return {
    release,
    leave,
    retire: async (project) => {
      await leave(project)
      await users?.retire(project.id).catch((error: unknown) => onError(error, 'taking a user away'))
    },
  }
}
