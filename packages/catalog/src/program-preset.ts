import type { Settings, SourceFiles } from './entry-types.ts'

/** A usual program beside a server, or a usual command at times, that the dependencies of a source ask for. */
export interface ProgramPreset {
  /** The name that it would get in the project: `queue`. */
  readonly name: string
  /** For people: `Laravel queue`. */
  readonly label: string
  readonly command: readonly [string, ...string[]]
  /** Why, for people: `composer.json asks for laravel/framework`. */
  readonly because: string
  /** Five fields; set for what runs at times. */
  readonly schedule?: string
}

/** What a runtime knows of usual workers and cron jobs. */
export interface ProgramPresets {
  /** Files that `find` needs, below the folder of the runtime. */
  readonly files: readonly string[]
  /** Pure: what the dependencies suggest. `source` is below the folder of the runtime. */
  find(source: SourceFiles, settings: Settings): readonly ProgramPreset[]
}
