/** A public key of a person, for log-ins over SSH. */
export interface SshKeyRow {
  readonly id: string
  readonly user: string
  readonly name: string
  /** `ssh-ed25519`. */
  readonly type: string
  /** As in `authorized_keys`, without a comment. */
  readonly publicKey: string
  /** `SHA256:…`. */
  readonly fingerprint: string
  readonly createdAt: string
  readonly lastUsedAt: string | null
}

export interface SshKeyReader {
  find(id: string): Promise<SshKeyRow | null>
  byFingerprint(fingerprint: string): Promise<SshKeyRow | null>
  of(user: string): Promise<readonly SshKeyRow[]>
}

export interface SshKeyWriter {
  /** Throws `TakenError` when somebody has the key already. */
  insert(key: Omit<SshKeyRow, 'createdAt' | 'lastUsedAt'>): Promise<SshKeyRow>
  touch(id: string): Promise<void>
  delete(id: string): Promise<void>
}
