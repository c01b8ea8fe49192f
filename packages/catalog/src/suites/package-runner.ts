import { below } from '../server-workload.ts'
import {
  isTestFile,
  type NodePackage,
  nodePackage,
  packageFiles,
  type RunnerCall,
  runnerCalls,
  unattended,
  withPackagePrograms,
} from './node-package.ts'
import type { SuiteCommand, SuiteDefinition, SuiteInput, SuiteType } from './suite-type.ts'

/** What tells one runner that is a package of npm from another. */
export interface PackageRunner {
  readonly runner: string
  readonly label: string
  readonly packageName: string
  /** How it is called when no script says more. */
  readonly program: readonly [string, ...string[]]
  readonly configs: readonly string[]
  readonly filterHelp: string
  /** The words of a script, behind the program's name, without those that watch. */
  words(words: readonly string[]): readonly string[]
  /** Written to the machine besides what people see. */
  flags(results: string, range: string | null): readonly string[]
  env?(results: string): Readonly<Record<string, string>>
  byName(pattern: string): string
  readonly results: SuiteCommand['results']
}

/** Recognised by its package, a script or a configuration file; called as the package's scripts call it. */
export function packageRunner(runner: PackageRunner): SuiteType {
  return {
    runner: runner.runner,
    label: runner.label,
    runtime: 'node',
    sourceFiles: (folder) => packageFiles(folder, runner.configs),
    find: (input) => find(runner, input),
  }
}

function find(runner: PackageRunner, input: SuiteInput): readonly SuiteDefinition[] {
  const found = nodePackage(input)
  if (found === null) return []
  const calls = runnerCalls(found.own, runner.program[0])
    .map((call) => withoutSubcommand(call, runner))
    .filter((call) => call !== null)
  const because = reasonFor(runner, found, calls)
  if (because === null) return []
  const plain: RunnerCall = { script: null, words: runner.program.slice(0, 1), at: 0 }
  return (calls.length === 0 ? [plain] : calls).map((call, at) => ({
    name: at === 0 || call.script === null ? runner.runner : call.script,
    label: call.script === null ? runner.label : `${runner.label} (${call.script})`,
    because,
    reason: null,
    filterHelp: runner.filterHelp,
    needsSetup: true,
    command: ({ filter, results }) => ({
      argv: [
        '/usr/bin/env',
        ...argvOf(runner, call, results, found.range(runner.packageName)),
        ...filterWords(runner, filter),
      ],
      env: { ...unattended, ...withPackagePrograms(input), ...runner.env?.(results) },
      cwd: below(input.project.path, input.folder),
      results: runner.results,
    }),
  }))
}

/** `playwright test`: scripts with another subcommand are not tests. */
function withoutSubcommand(call: RunnerCall, runner: PackageRunner): RunnerCall | null {
  const [, subcommand] = runner.program
  if (subcommand === undefined) return call
  if (call.words[call.at + 1] !== subcommand) return null
  return { ...call, words: call.words.filter((_word, at) => at !== call.at + 1) }
}

function reasonFor(runner: PackageRunner, found: NodePackage, calls: readonly RunnerCall[]): string | null {
  const [call] = calls
  if (call !== undefined) return `The script "${call.script}" of package.json runs ${runner.program.join(' ')}`
  if (found.own.dependencies.has(runner.packageName)) return `package.json depends on ${runner.packageName}`
  const config = runner.configs.find(found.has)
  if (config !== undefined && found.dependsOn(runner.packageName)) return `${config} is there`
  return null
}

function argvOf(runner: PackageRunner, call: RunnerCall, results: string, range: string | null): readonly string[] {
  const before = call.words.slice(0, call.at + 1)
  const rest = call.words.slice(call.at + 1)
  return [...before, ...runner.program.slice(1), ...runner.words(rest), ...runner.flags(results, range)]
}

function filterWords(runner: PackageRunner, filter: string | null): readonly string[] {
  if (filter === null) return []
  return isTestFile(filter) ? [filter] : [runner.byName(filter)]
}
