import type { UserRow } from './users.ts'

/** Lets one browser, in which somebody is signed in, to the page of one service. */
export interface PagePassRow {
  /** SHA-256 of the cookie. */
  readonly hash: string
  readonly session: string
  readonly project: string
  readonly service: string
  readonly expiresAt: string
  /** Of who is signed in. */
  readonly rights: Pick<UserRow, 'role' | 'projects' | 'projectRoles'>
}

export interface PagePassReader {
  /** Those that hold: their session goes on, and its user is not disabled. */
  live(): Promise<readonly PagePassRow[]>
}

export interface PagePassWriter {
  /** Of one session and page a few stay, the latest; expired ones of all go. */
  insert(pass: Omit<PagePassRow, 'rights' | 'expiresAt'> & { readonly expiresAt: Date }): Promise<void>
}
