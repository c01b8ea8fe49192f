import type { ProcessRun } from '@stackquay/engine-api'
import { type RuntimeInput, SettingsError } from '../../entry-types.ts'
import { cacheFolder, onPath } from '../../server-workload.ts'

/** argv of Composer, run by the project's PHP. */
export function composer(input: RuntimeInput, words: readonly string[]): ProcessRun['argv'] {
  if (input.helpers === undefined) return onPath(['composer', ...words])
  const program = input.helpers.composer?.program
  if (program !== undefined) return [input.toolchain.program, program, ...words]
  throw new SettingsError(
    'preset',
    'The project has a composer.json, but Composer is not installed on this machine.',
    'Install it (Debian: apt-get install -y composer).',
  )
}

export function composerVariables(input: RuntimeInput): Readonly<Record<string, string>> {
  return { COMPOSER_HOME: `${input.project.toolsPath}/composer`, COMPOSER_CACHE_DIR: cacheFolder(input, 'composer') }
}
