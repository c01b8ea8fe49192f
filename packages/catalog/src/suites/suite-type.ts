import type { Value } from '@stackquay/engine-api'
import type { CommandEnvironment, ProjectFacts, Settings, SourceFiles } from '../entry-types.ts'

/** A test runner. Each type has a file or folder of its own and one line in the list. */
export interface SuiteType {
  /** `pytest`, `node-test`. */
  readonly runner: string
  readonly label: string
  /** The runtime whose source it tests and whose commands' environment it runs in. Null: a toolchain of its own on PATH (`cargo`). */
  readonly runtime: string | null
  /** Files (relative to the project) that `find` wants to know. `folder` is the runtime's package folder. */
  sourceFiles(folder: string): readonly string[]
  /** Pure: the suites of this runner in a source, mostly none or one. */
  find(input: SuiteInput): readonly SuiteDefinition[]
}

export interface SuiteInput {
  readonly project: ProjectFacts
  readonly source: SourceFiles
  /** Of the runtime; null for a kind without one. */
  readonly settings: Settings | null
  /** Relative to the project: `.`, `packages/api`. */
  readonly folder: string
  readonly environment: CommandEnvironment
  /** Absolute path of the runtime's program, null when there is none here. */
  readonly program: string | null
  /** Absolute path of a built-in program that may be run with Node: `test-output`. */
  ourProgram(name: string): { readonly node: string; readonly file: string }
}

export interface SuiteDefinition {
  /** Unique in its runtime: `pytest`, `test:e2e`. */
  readonly name: string
  readonly label: string
  /** Why it was recognised: `package.json depends on vitest`. */
  readonly because: string
  /** Why it cannot run now and what to do; null when it can. */
  readonly reason: string | null
  /** What its filter takes: `Part of the test's name (-k)`. */
  readonly filterHelp: string
  readonly needsSetup: boolean
  /** `results` is the absolute path of an empty folder that the runner may write into. */
  command(options: { readonly filter: string | null; readonly results: string }): SuiteCommand
}

export interface SuiteCommand {
  readonly argv: readonly [string, ...string[]]
  readonly env?: Readonly<Record<string, Value>>
  /** Absolute, when it is not the environment's. */
  readonly cwd?: string
  /**
   * Built-in helpers, text by name: written into `results` before it starts, readable for the account that runs
   * it. Names are plain file names.
   */
  readonly files?: Readonly<Record<string, string>>
  /** How its results are read: the file (a name inside `results`), or its standard output. */
  readonly results: { readonly format: ResultFormat; readonly file: string | null }
}

/**
 * The machine-readable outputs that `results/` can read. `cases` is a built-in format: one JSON text a line, written by the small
 * reporters that we hand to runners without such an output, or with one that leaves out where a test is.
 */
export type ResultFormat =
  | 'junit'
  | 'cases'
  | 'go-test-json'
  | 'cargo-test'
  | 'jest-json'
  | 'playwright-json'
  | 'rspec-json'
