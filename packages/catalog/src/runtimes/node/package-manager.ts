import type { Job, ProcessRun, ToolchainQuery } from '@stackquay/engine-api'
import { type RuntimeInput, SettingsError, type SourceFiles } from '../../entry-types.ts'
import { below, cacheFolder, inSource, installVariables, onPath, searchPath } from '../../server-workload.ts'
import { readPackageJson } from './package-json.ts'

export const packageManagers = ['npm', 'pnpm', 'yarn', 'bun'] as const
export type PackageManager = (typeof packageManagers)[number]

/** Lock files by manager; the first is the usual one. */
export const lockFiles: Readonly<Record<PackageManager, readonly [string, ...string[]]>> = {
  npm: ['package-lock.json', 'npm-shrinkwrap.json'],
  pnpm: ['pnpm-lock.yaml'],
  yarn: ['yarn.lock'],
  bun: ['bun.lock', 'bun.lockb'],
}

export const packageManagerQueries: readonly ToolchainQuery[] = packageManagers.map((name) => ({
  name,
  programs: [name],
  places: [],
  versionArgs: ['--version'],
  versionPattern: '^(\\d+\\.\\d+\\.\\d+)',
}))

/** What the source tree itself says: its lock file, else the field `packageManager`. */
export function detectedPackageManager(source: SourceFiles): PackageManager {
  const byLock = packageManagers.find((name) => lockFiles[name].some((file) => file in source))
  const declared = readPackageJson(source, 'package.json')?.packageManager?.split('@')[0]
  return byLock ?? packageManagers.find((name) => name === declared) ?? 'npm'
}

/**
 * argv of the chosen package manager. npm, pnpm and yarn are scripts that begin with `#!/usr/bin/env node`, so PATH decides
 * which Node runs them: the toolchain's directory stands first there, and a Node without an npm of its own (the bundled
 * one) works with the machine's.
 */
export function packageManagerCommand(input: RuntimeInput, words: readonly string[]): ProcessRun['argv'] {
  const name = input.settings.packageManager as PackageManager
  if (input.helpers === undefined) return onPath([name, ...words])
  const helper = input.helpers[name]
  if (helper !== undefined) return [helper.program, ...words]
  throw new SettingsError('packageManager', `${name} is not installed on this machine.`, installHints[name])
}

const installHints: Readonly<Record<PackageManager, string>> = {
  npm: 'Install it (Debian: apt-get install -y npm).',
  pnpm: 'Install it with "npm install -g pnpm", or set "packageManager" to one that is there.',
  yarn: 'Install it with "npm install -g yarn", or set "packageManager" to one that is there.',
  bun: 'Install it with "npm install -g bun", or set "packageManager" to one that is there.',
}

/** Words that run a script of package.json with further arguments. */
export function runScriptWords(manager: PackageManager, script: string, flags: readonly string[]): readonly string[] {
  return manager === 'npm' && flags.length > 0 ? ['run', script, '--', ...flags] : ['run', script, ...flags]
}

/** Installs what package.json asks for; null when it asks for nothing. Exactly the lock file where there is one. */
export function installJob(input: RuntimeInput): Job | null {
  const { source, settings, project } = input
  const manager = settings.packageManager as PackageManager
  const folder = installFolder(source, settings.package as string, manager)
  const packageJson = readPackageJson(source, inSource(folder, 'package.json'))
  if (packageJson === null || (packageJson.dependencies.size === 0 && !packageJson.hasWorkspaces)) return null

  const { locked, free, hasLock } = installWordsOf(input)
  const words = hasLock ? locked : free
  const cwd = below(project.path, folder)
  return {
    name: 'install',
    title: `Install dependencies (${manager} ${words[0]})`,
    argv: packageManagerCommand(input, words),
    cwd,
    env: { ...cacheVariables(input), ...installVariables(input.env), PATH: searchPath([input.toolchain.directory]) },
    timeoutSeconds: 900,
    inputs: [below(cwd, 'package.json'), ...lockFiles[manager].map((file) => below(cwd, file))],
    creates: below(cwd, 'node_modules'),
  }
}

/** Words that install: exactly what the lock file says, and what package.json asks for. */
export function installWordsOf({ source, settings }: RuntimeInput): {
  readonly locked: readonly string[]
  readonly free: readonly string[]
  readonly hasLock: boolean
} {
  const manager = settings.packageManager as PackageManager
  const folder = installFolder(source, settings.package as string, manager)
  const modernYarn = isModernYarn(source, folder)
  return {
    locked: installWords(manager, true, modernYarn),
    free: installWords(manager, false, modernYarn),
    hasLock: lockFiles[manager].some((file) => inSource(folder, file) in source),
  }
}

/** Where the lock file is: beside the package, else at the top of the workspace. */
function installFolder(source: SourceFiles, folder: string, manager: PackageManager): string {
  if (lockFiles[manager].some((file) => inSource(folder, file) in source)) return folder
  return readPackageJson(source, 'package.json')?.hasWorkspaces ? '.' : folder
}

/** Development packages too, in production mode as well: they hold what builds. */
function installWords(manager: PackageManager, locked: boolean, modernYarn: boolean): readonly string[] {
  switch (manager) {
    case 'npm':
      return [locked ? 'ci' : 'install', '--include=dev', '--no-audit', '--no-fund']
    case 'pnpm':
      return ['install', '--prod=false', ...(locked ? ['--frozen-lockfile'] : [])]
    case 'yarn':
      if (modernYarn) return ['install', ...(locked ? ['--immutable'] : [])]
      return ['install', '--production=false', '--non-interactive', ...(locked ? ['--frozen-lockfile'] : [])]
    case 'bun':
      return ['install', ...(locked ? ['--frozen-lockfile'] : [])]
    default:
      return manager satisfies never
  }
}

function isModernYarn(source: SourceFiles, folder: string): boolean {
  const declared = readPackageJson(source, inSource(folder, 'package.json'))?.packageManager ?? ''
  return inSource(folder, '.yarnrc.yml') in source || /^yarn@[2-9]/.test(declared)
}

export function cacheVariables(input: RuntimeInput) {
  return {
    npm_config_cache: cacheFolder(input, 'npm'),
    npm_config_store_dir: cacheFolder(input, 'pnpm'),
    npm_config_update_notifier: 'false',
    YARN_CACHE_FOLDER: cacheFolder(input, 'yarn'),
    YARN_ENABLE_TELEMETRY: '0',
    BUN_INSTALL_CACHE_DIR: cacheFolder(input, 'bun'),
    COREPACK_HOME: cacheFolder(input, 'corepack'),
  }
}
