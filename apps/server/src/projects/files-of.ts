import { lstat } from 'node:fs/promises'
import type { Template } from '@stackquay/catalog'
import { templateFolder } from '@stackquay/catalog/folders'
import type { Account, Accounts, ProjectFiles, UserFiles } from '@stackquay/engines'
import { nobody } from '../isolation/nobody.ts'

/** Where source files lie, and whose they are. */
export interface SourcePlace {
  /** The project's id; one that is only planned has no user yet. */
  readonly id: string
  readonly path: string
  /** The files came with this installation, as those of a template did: no project can write there. */
  readonly builtIn?: boolean
}

/** What a new project of the template begins with, where it lies. */
export function templatePlace(id: string, template: Template): SourcePlace {
  return { id, path: templateFolder(template), builtIn: true }
}

/** Answers who reads and writes the source files of a project: always its user, never root. */
export type FilesOf = (place: SourcePlace) => Promise<ProjectFiles>

export function createFilesOf(accounts: Pick<Accounts, 'known'>, files: Pick<UserFiles, 'of'>): FilesOf {
  return async (place) => files.of(place.builtIn === true ? null : await readerOf(accounts, place))
}

/**
 * The project's user. A project without one yet (it is only planned, or was never started) is looked at as the owner of its
 * folder, where that is a person; else as the user that owns nothing.
 */
export async function readerOf(accounts: Pick<Accounts, 'known'>, { id, path }: SourcePlace): Promise<Account | null> {
  const known = accounts.known(id)
  if (known !== undefined) return known
  const owner = await lstat(path).catch(() => null)
  return owner !== null && owner.uid >= firstPerson && owner.uid !== nobody.uid && owner.gid > 0
    ? { uid: owner.uid, gid: owner.gid }
    : nobody
}

/** UID_MIN of nearly every system. */
const firstPerson = 1000

/** A project that is being created has no folder yet. */
export async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  )
}
