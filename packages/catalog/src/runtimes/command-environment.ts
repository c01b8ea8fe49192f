import type { Job, Value } from '@stackquay/engine-api'
import { type CommandEnvironment, type RuntimeInput, SettingsError } from '../entry-types.ts'
import { searchPath } from '../server-workload.ts'

/** What a runtime says about the place where its commands run; the rest is the same for all. */
export interface EnvironmentParts {
  readonly cwd: string
  /** Defaults, which the person's variables replace. */
  readonly env: Readonly<Record<string, Value>>
  /** Directories that go before the system's in PATH. */
  readonly path: readonly string[]
  /** The job that installs dependencies: that of the workload. May throw `SettingsError`, which never blocks a terminal. */
  readonly install: (() => Job | null) | null
  /** Dependencies are installed already: a job that cannot run is no blocker then. */
  readonly installed?: boolean
}

/** Answers for all settings of the server, also broken ones: a person opens a terminal to fix them. */
export function commandEnvironment(input: RuntimeInput, parts: EnvironmentParts): CommandEnvironment {
  const { setup, setupReason } = prepared(parts)
  return {
    env: { PATH: searchPath(parts.path.filter((folder) => folder !== '')), ...parts.env, ...input.env },
    cwd: parts.cwd,
    setup,
    setupReason,
  }
}

function prepared({ install, installed }: EnvironmentParts): Pick<CommandEnvironment, 'setup' | 'setupReason'> {
  try {
    const job = install?.() ?? null
    return { setup: job === null ? [] : [job], setupReason: null }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    return { setup: [], setupReason: installed === true ? null : blockerOf(error) }
  }
}

export function blockerOf(error: SettingsError): string {
  return `${error.message} ${error.hint}`
}
