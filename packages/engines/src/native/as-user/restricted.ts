import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { FilesError } from './files-error.ts'

/*
 * `setpriv` of util-linux in front of a program: nothing that it starts can gain rights (`no_new_privs`), and its bounding set is
 * empty. Twice, because capabilities are inherited by the second one alone.
 */

/** For a program that gives up its rights itself and needs these until then. */
export async function givingUpRights(): Promise<readonly string[]> {
  return (await works()) ? [...inheriting, ...forbidding] : []
}

/** For a program that is started as a user at once. */
export async function asUserArgv(uid: number, gid: number): Promise<readonly string[] | null> {
  if (!(await works())) return null
  return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs', '--bounding-set=-all']
}

const inheriting = ['setpriv', '--inh-caps=+setuid,+setgid,+dac_read_search']
const forbidding = ['setpriv', '--no-new-privs', '--bounding-set=-all']
let found: Promise<boolean> | null = null

/** Tried by running it: a container may forbid what the program offers. */
function works(): Promise<boolean> {
  found ??= promisify(execFile)(inheriting[0]!, [...inheriting.slice(1), ...forbidding, 'true'], {
    env: { PATH: systemPath, LC_ALL: 'C' },
    timeout: 10_000,
  }).then(
    () => true,
    (error: { readonly killed?: boolean; readonly code?: unknown }) => {
      // A machine that is too busy says nothing about what it can do: nothing runs with less care because of it.
      if (error.killed !== true && error.code !== 'EAGAIN' && error.code !== 'ENOMEM') return false
      found = null
      throw new FilesError('broken', 'The machine is too busy to start a program as the user of the project.')
    },
  )
  return found
}

export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
