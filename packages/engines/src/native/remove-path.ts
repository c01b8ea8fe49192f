import { EngineError } from '@stackquay/engine-api'
import type { Account } from './account.ts'
import { existFor, runAs } from './isolation/as-user.ts'

/**
 * Removes what a project's program made, with the rights of the project's user: a path through a symbolic link cannot reach what
 * that user could not have removed by itself. Succeeds when nothing is left.
 */
export async function removeAs(account: Account | null, path: string): Promise<void> {
  await runAs(account, ['/bin/rm', '-rf', '--', path])
  const [left] = await existFor(account, [path])
  if (left === true) {
    throw new EngineError('io_failed', `${path} could not be removed.`, { hint: 'Remove it by hand, then try again.' })
  }
}
