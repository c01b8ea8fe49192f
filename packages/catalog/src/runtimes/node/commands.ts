import { type RuntimeCommands, type RuntimeInput, SettingsError } from '../../entry-types.ts'
import { below, inSource, onPath } from '../../server-workload.ts'
import { mostScripts } from '../../source-json.ts'
import { type ActionParts, actionList, isActionName } from '../actions.ts'
import { blockerOf, commandEnvironment } from '../command-environment.ts'
import { binFolders } from './build-job.ts'
import { nodeVariables } from './node-variables.ts'
import { readPackageJson } from './package-json.ts'
import {
  cacheVariables,
  installJob,
  installWordsOf,
  type PackageManager,
  packageManagerCommand,
  runScriptWords,
} from './package-manager.ts'

/** The scripts of package.json, and what installs its dependencies. */
export function commands(input: RuntimeInput): RuntimeCommands {
  const { settings, project, source } = input
  const folder = settings.package as string
  return {
    environment: commandEnvironment(input, {
      cwd: below(project.path, folder),
      // No NODE_ENV: bundlers and test runners choose it themselves, and go wrong with another one.
      env: { ...ownCaches(input), ...nodeVariables(input) },
      path: [...binFolders(input), input.toolchain.directory],
      install: () => installJob(input),
      installed: ['node_modules', inSource(folder, 'node_modules')].some((name) => name in source),
    }),
    actions: actionList([...installActions(input), ...scriptActions(input)]),
  }
}

export function commandFiles(folder: string): readonly string[] {
  return [inSource(folder, 'node_modules'), 'node_modules']
}

function installActions(input: RuntimeInput): readonly ActionParts[] {
  const manager = input.settings.packageManager as PackageManager
  const folder = input.settings.package as string
  const isThere = readPackageJson(input.source, inSource(folder, 'package.json')) !== null
  const missing = `No package.json in ${folder === '.' ? 'the project' : `"${folder}"`}: add one, for example with "npm init".`
  const { locked, free, hasLock } = installWordsOf(input)
  const install = {
    name: 'install',
    label: `${manager} install`,
    summary: 'Installs the dependencies and writes the lock file.',
    ...managerCall(input, free),
    needsSetup: false,
  }
  const exact = {
    name: 'install-exact',
    label: `${manager} ${[locked[0], ...locked.filter((word) => /lockfile|immutable/.test(word))].join(' ')}`,
    summary: 'Installs the dependencies exactly as the lock file has them.',
    ...managerCall(input, locked),
    needsSetup: false,
  }
  if (!isThere) return [{ ...install, reason: install.reason ?? missing }]
  return hasLock ? [install, exact] : [install]
}

function scriptActions(input: RuntimeInput): readonly ActionParts[] {
  const manager = input.settings.packageManager as PackageManager
  const packageJson = readPackageJson(input.source, inSource(input.settings.package as string, 'package.json'))
  const { scripts = {}, scriptLines = [] } = packageJson ?? {}
  return Iterator.from(scriptLines)
    .filter(([name]) => isActionName(name) && !isHook(name, scripts))
    .take(mostScripts)
    .map(([name, text]) => ({
      name,
      label: `${manager} run ${name}`,
      summary: text,
      ...managerCall(input, runScriptWords(manager, name, [])),
    }))
    .toArray()
}

/** `pretest` beside `test` runs with it; so does what package managers run around their own commands. */
function isHook(name: string, scripts: Readonly<Record<string, string>>): boolean {
  if (ownHooks.has(name)) return true
  const of = /^(?:pre|post)(.+)$/.exec(name)?.[1]
  return of !== undefined && (Object.hasOwn(scripts, of) || ownHooks.has(of))
}

const ownHooks = new Set(['install', 'uninstall', 'publish', 'pack', 'version', 'shrinkwrap'])

/** npm warns of what only pnpm knows, above the output of every command. */
function ownCaches(input: RuntimeInput): Readonly<Record<string, string>> {
  const { npm_config_store_dir: pnpmStore, ...others } = cacheVariables(input)
  return input.settings.packageManager === 'pnpm' ? { ...others, npm_config_store_dir: pnpmStore } : others
}

/** What would be called says itself which program is missing. */
function managerCall(input: RuntimeInput, words: readonly string[]): Pick<ActionParts, 'argv' | 'reason'> {
  try {
    return { argv: packageManagerCommand(input, words), reason: null }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    return { argv: onPath([input.settings.packageManager as string, ...words]), reason: blockerOf(error) }
  }
}
