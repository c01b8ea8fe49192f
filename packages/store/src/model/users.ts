import type { Scope } from '@stackquay/contract'

export interface UserRow {
  readonly id: string
  readonly username: string
  readonly role: Scope
  readonly disabled: boolean
  readonly passwordHash: string
  readonly createdAt: string
}

export interface UserReader {
  find(id: string): Promise<UserRow | null>
  byName(username: string): Promise<UserRow | null>
  list(): Promise<readonly UserRow[]>
  count(): Promise<number>
}

export interface UserWriter {
  insert(user: { id: string; username: string; role: Scope; passwordHash: string }): Promise<UserRow>
  update(id: string, change: Partial<Pick<UserRow, 'role' | 'disabled' | 'passwordHash'>>): Promise<UserRow>
  delete(id: string): Promise<void>
}
