import type { Scope } from '@stackquay/contract'

export interface UserRow {
  readonly id: string
  readonly username: string
  /** Null: none but on the projects of `projectRoles`. */
  readonly role: Scope | null
  /** Ids of the projects that the role ends at; empty for no limit. */
  readonly projects: readonly string[]
  readonly projectRoles: readonly { readonly project: string; readonly role: Scope }[]
  readonly disabled: boolean
  /** Null for whoever was invited and has not come yet. */
  readonly passwordHash: string | null
  readonly createdAt: string
}

export type NewUser = Pick<UserRow, 'id' | 'username' | 'role' | 'passwordHash'> &
  Partial<Pick<UserRow, 'projects' | 'projectRoles'>>
export type UserChange = Partial<Pick<UserRow, 'role' | 'projects' | 'projectRoles' | 'disabled' | 'passwordHash'>>

export interface UserReader {
  find(id: string): Promise<UserRow | null>
  byName(username: string): Promise<UserRow | null>
  list(): Promise<readonly UserRow[]>
  count(): Promise<number>
}

export interface UserWriter {
  insert(user: NewUser): Promise<UserRow>
  update(id: string, change: UserChange): Promise<UserRow>
  delete(id: string): Promise<void>
}
