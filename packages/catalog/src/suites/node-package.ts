import type { Value } from '@stackquay/engine-api'
import { type PackageJson, readPackageJson } from '../runtimes/node/package-json.ts'
import { isAssignment, simpleScript } from '../runtimes/node/simple-script.ts'
import { below, inSource } from '../server-workload.ts'
import type { SuiteInput } from './suite-type.ts'

/** What the runners of Node.js read of a package: its own package.json, and the one at the top of its workspace. */
export interface NodePackage {
  readonly own: PackageJson
  dependsOn(name: string): boolean
  has(file: string): boolean
  /** The version that is asked for, as it is written: `^4.1.0`. */
  range(name: string): string | null
}

export function nodePackage({ source, folder }: SuiteInput): NodePackage | null {
  const own = readPackageJson(source, inSource(folder, 'package.json'))
  if (own === null) return null
  const top = readPackageJson(source, 'package.json')
  return {
    own,
    dependsOn: (name) => own.dependencies.has(name) || (top?.dependencies.has(name) ?? false),
    has: (file) => inSource(folder, file) in source,
    range: (name) => rangeIn(source[inSource(folder, 'package.json')], name) ?? rangeIn(source['package.json'], name),
  }
}

function rangeIn(text: string | true | undefined, name: string): string | null {
  if (typeof text !== 'string') return null
  return new RegExp(`"${name}"\\s*:\\s*"([^"]{1,100})"`).exec(text)?.[1] ?? null
}

export function packageFiles(folder: string, files: readonly string[]): readonly string[] {
  return [...new Set(['package.json', ...['package.json', ...files].map((file) => inSource(folder, file))])]
}

/** `vitest.config` with all endings that JavaScript has. */
export function configFiles(name: string): readonly string[] {
  return ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map((ending) => `${name}.${ending}`)
}

/** A way to call a runner: by a script of package.json that says how, or plainly. */
export interface RunnerCall {
  /** Name of the script; null when there is none. */
  readonly script: string | null
  /** The script's words; may begin with assignments and `cross-env`. */
  readonly words: readonly string[]
  /** Index of the runner's name in the words. */
  readonly at: number
}

/** More suites of one package than this are not useful. */
export const mostSuites = 50

/**
 * The scripts that call a runner, each way once. Scripts that watch, measure or update are left out: they are the same tests.
 */
export function runnerCalls(own: PackageJson, runner: string): readonly RunnerCall[] {
  const seen = new Set<string>()
  return own.scriptLines.flatMap(([script, line]) => {
    // Most of ten thousand scripts are told by this alone.
    if (seen.size === mostSuites || !line.includes(runner)) return []
    const words = simpleScript(line)
    const at = words?.findIndex((word) => !isAssignment(word) && word !== 'cross-env' && word !== 'npx') ?? -1
    if (words === null || words[at] !== runner || words.some((word) => variants.test(word))) return []
    const same = words.filter((word) => !['run', '--run', 'watch', 'dev', '--watch', '-w', '--watchAll'].includes(word))
    const key = same.join(' ')
    if (seen.has(key)) return []
    seen.add(key)
    return [
      {
        script,
        words: words.filter((word) => word !== 'npx'),
        at: words.slice(0, at).filter((word) => word !== 'npx').length,
      },
    ]
  })
}

const variants =
  /^(--ui|--coverage.*|--coverage|--update|-u|--updateSnapshot|--help|--version|bench|typecheck|list|show-report|show-trace|install|install-deps|codegen|open|init|merge-reports|--init|--clearCache|--showConfig|--debug|--headed)$/

/** Packages put their programs into `node_modules/.bin`, of the package or of the workspace above it. */
export function withPackagePrograms(input: SuiteInput): { readonly PATH: Value } {
  const { project, folder, environment } = input
  const folders = [...new Set([below(project.path, folder), project.path])].map((one) => `${one}/node_modules/.bin`)
  const path = environment.env.PATH
  const before = folders.map((one) => `${one}:`).join('')
  if (path === undefined) return { PATH: `${before}/usr/local/bin:/usr/bin:/bin` }
  return { PATH: typeof path === 'string' ? before + path : [before, ...path] }
}

/** For runners that ask whether a person sits in front of them: no watching, no questions, but colours. */
export const unattended = { CI: '1', FORCE_COLOR: '1' }

/** A filter that names a file, so that it is handed on as one. */
export function isTestFile(filter: string): boolean {
  return !filter.startsWith('-') && /\.[cm]?[jt]sx?(:\d+)?$/.test(filter)
}
