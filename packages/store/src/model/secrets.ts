import type { Secret } from '@stackquay/contract'

export interface SecretHandle {
  readonly secret: string
  readonly version: number
}

export interface SecretReader {
  /**
   * Its text; with `version` the one of that version, while it is kept. Throws `SecretError` when it does not exist, was sealed with
   * another key, or its bytes were changed.
   */
  reveal(secret: string, version?: number): Promise<Secret>
  find(project: string | null, name: string): Promise<SecretHandle | null>
  of(project: string): Promise<Readonly<Record<string, SecretHandle>>>
  /** The projects that have one of that name. */
  projectsWith(name: string): Promise<ReadonlySet<string>>
  /** Those of the instance whose names begin so. */
  ofInstance(prefix: string): Promise<Readonly<Record<string, SecretHandle>>>
}

export interface SecretWriter {
  /** Seals `text` under (project, name); a second call with another text adds one to the version, with the same text nothing. `project` null: the instance's. */
  put(project: string | null, name: string, text: string): Promise<SecretHandle>
  /** For good, with all versions that are kept. */
  delete(project: string | null, name: string): Promise<void>
  /** The same for a secret that is not needed from the next generation on: its text stays until that was carried out. */
  drop(project: string, name: string): Promise<void>
}
