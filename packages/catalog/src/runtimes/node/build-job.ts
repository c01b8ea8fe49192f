import type { Job } from '@stackquay/engine-api'
import { type RuntimeInput, SettingsError } from '../../entry-types.ts'
import { atEveryStart, below, inSource, onPath, searchPath } from '../../server-workload.ts'
import { readPackageJson } from './package-json.ts'
import { type PackageManager, packageManagerCommand, runScriptWords } from './package-manager.ts'
import { presetOf } from './presets.ts'
import { simpleScript } from './simple-script.ts'

/** Builds for production: by the person's script, by a script `build`, or by the framework's own command. */
export function buildJob(input: RuntimeInput, env: Job['env']): Job | null {
  const { settings, source, project } = input
  const folder = settings.package as string
  const packageJson = readPackageJson(source, inSource(folder, 'package.json'))
  if (packageJson === null) return null
  const asked = settings.buildScript as string | null
  if (asked !== null && !(asked in packageJson.scripts)) {
    throw new SettingsError(
      'buildScript',
      `package.json has no script "${asked}".`,
      `Add it, or set "buildScript" to null or to one that is there: ${Object.keys(packageJson.scripts).slice(0, 20).join(', ')}.`,
    )
  }
  const script = asked ?? ('build' in packageJson.scripts ? 'build' : null)
  const words = script === null ? presetOf(settings.preset).build : simpleScript(packageJson.scripts[script] ?? '')
  if (script === null && words === null) return null
  const cwd = below(project.path, folder)
  return {
    name: 'build',
    title: `Build for production (${script ?? words?.join(' ')})`,
    argv:
      words === null || script === null || hasHooks(packageJson.scripts, script)
        ? script === null
          ? onPath(words ?? [])
          : packageManagerCommand(input, runScriptWords(settings.packageManager as PackageManager, script, []))
        : onPath(words),
    cwd,
    env: { ...env, PATH: searchPath([...binFolders(input), input.toolchain.directory]) },
    timeoutSeconds: 1800,
    inputs: [],
    creates: atEveryStart(input),
  }
}

function hasHooks(scripts: Readonly<Record<string, string>>, script: string): boolean {
  return `pre${script}` in scripts || `post${script}` in scripts
}

/** Where package managers put programs of installed packages: the package's own and the workspace's. */
export function binFolders(input: RuntimeInput): readonly string[] {
  const root = input.project.path
  return [...new Set([below(root, input.settings.package as string), root])].map(
    (folder) => `${folder}/node_modules/.bin`,
  )
}
