import type { EngineName } from '@stackquay/contract'
import type { DatabaseSpec } from '@stackquay/domain'

/** `kept`: it can be brought back. The others say what is under way, for who finds it after a crash. */
export type TrashState = 'moving' | 'kept' | 'restoring' | 'purging'
export type TrashKind = 'project' | 'service' | 'database' | 'file'

/** Something that was deleted and lies in the trash. */
export interface TrashItem {
  readonly id: string
  readonly kind: TrashKind
  readonly state: TrashState
  /** The project that it is or was of. */
  readonly project: string
  readonly slug: string
  readonly projectName: string
  /** As people call it: a project's slug, a service, a database. */
  readonly name: string
  readonly engine: EngineName
  /** The operation that deletes it. */
  readonly operation: string | null
  /** Kept data that the engine has aside under the item's id. */
  readonly data: readonly TrashData[]
  /** RFC 3339 UTC. */
  readonly deletedAt: string
  readonly deletedBy: string
  readonly purgeAt: string
  /** Of a project: its folder, and its own host names. */
  readonly path: string | null
  readonly hosts: readonly string[]
  /** Which version of its service wrote it, by the name of the data, where that is known. */
  readonly writtenBy: Readonly<Record<string, string>>
  /** The settings of a database, when they were known. */
  readonly database: DatabaseSpec | null
}

export interface TrashData {
  readonly name: string
  /** Null where it could not be measured. */
  readonly sizeBytes: number | null
}

export interface NewTrashItem extends Omit<TrashItem, 'state' | 'path' | 'hosts' | 'writtenBy'> {
  /** Names of secrets that go with data. Of a project, all do. */
  readonly secrets: readonly string[]
}

export interface TrashReader {
  /** Newest first. */
  all(): Promise<readonly TrashItem[]>
  find(id: string): Promise<TrashItem | null>
  ofOperation(operation: string): Promise<readonly TrashItem[]>
  ofProject(project: string): Promise<readonly TrashItem[]>
}

export interface TrashWriter {
  /** In the state `moving`. */
  add(item: NewTrashItem): Promise<TrashItem>
  /** Throws `ChangedError` when it is in none of the states `from`, or gone. */
  setState(id: string, from: readonly TrashState[], to: TrashState): Promise<TrashItem>
  /** The project leaves the projects, and all that is known of it lies in the item, which is `kept` then. */
  takeProject(id: string): Promise<void>
  /** The way back, stopped, without the item. Throws `TakenError` for a slug or host name that another project has. */
  returnProject(id: string, as: { readonly slug: string; readonly withoutHosts: readonly string[] }): Promise<void>
  /** What is known of the data leaves the project: its secrets, and which version wrote it. */
  takeData(id: string): Promise<void>
  /** The way back, without the item. Secrets of the same names are replaced: they opened nothing. */
  returnData(id: string): Promise<void>
  /** A pull request of the project `parent` is closed: environments of it that lie here know it when they come back. */
  endPullRequest(parent: string, number: number): Promise<void>
  delete(id: string): Promise<void>
}
