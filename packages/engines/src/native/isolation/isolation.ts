import type { FolderMount } from '@stackquay/engine-api'
import type { ControlGroups } from './control-groups.ts'
import type { Sandbox } from './sandbox.ts'

/** What keeps the programs of one project from those of another, beside the user of each. */
export interface Isolation {
  /** Null where the machine has none that can be used. */
  readonly groups: ControlGroups | null
  /** Null: programs see the whole machine, as their user may. */
  readonly sandbox: Sandbox | null
  /** Folders of this service outside the engine's home, where other projects' files lie. */
  readonly hidden: readonly string[]
  /** Folders that a sandbox hides from one project besides: the home of the person whose user it has. */
  hiddenFrom(project: string): Promise<readonly string[]>
  /** Folders of a project outside the engine's own: its source, its tools. A sandbox shows these and no other project's. */
  folders(project: string): Promise<readonly FolderMount[]>
  /** Called before each start of a program of a project, which does not start when this rejects: walls around ports are set then. */
  readonly ready?: (project: string) => Promise<void>
}

export const noIsolation: Isolation = {
  groups: null,
  sandbox: null,
  hidden: [],
  hiddenFrom: async () => [],
  folders: async () => [],
}

/** What a level gives; each is shown to people by its name. */
export const isolationFeatures = ['user', 'cgroup', 'ports', 'sandbox'] as const
export type IsolationFeature = (typeof isolationFeatures)[number]
