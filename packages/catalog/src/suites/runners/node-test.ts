import type { Value } from '@stackquay/engine-api'
import { below, inSource } from '../../server-workload.ts'
import {
  mostSuites,
  type NodePackage,
  nodePackage,
  packageFiles,
  unattended,
  withPackagePrograms,
} from '../node-package.ts'
import { nodeTestReporter } from '../reporters/node-test.ts'
import type { SuiteDefinition, SuiteInput, SuiteType } from '../suite-type.ts'

/** Node's own test runner: a script with `node --test`, or a package without any runner that has a folder `test`. */
export const nodeTest: SuiteType = {
  runner: 'node-test',
  label: 'node:test',
  runtime: 'node',
  sourceFiles: (folder) => packageFiles(folder, ['test', ...otherLanguages]),
  find,
}

function find(input: SuiteInput): readonly SuiteDefinition[] {
  const found = nodePackage(input)
  if (found === null) return []
  const scripts = found.own.scriptLines.filter(([, line]) => runsTests(line))
  if (scripts.length > 0) {
    return scripts.slice(0, mostSuites).map(([script, line], at) => ({
      ...common(found),
      name: at === 0 ? 'node-test' : script,
      label: `node:test (${script})`,
      because: `The script "${script}" of package.json runs node --test`,
      command: ({ filter, results }) => ofScript(input, script, line, filter, results),
    }))
  }
  const isFolder = input.source[inSource(input.folder, 'test')] === true
  if (!isFolder || 'test' in found.own.scripts) return []
  if (otherRunners.some(found.dependsOn) || otherLanguages.some(found.has)) return []
  return [
    {
      ...common(found),
      name: 'node-test',
      label: 'node:test',
      because: 'The folder "test" is there, and no other test runner',
      command: ({ filter, results }) => ({
        argv: [input.program ?? 'node', '--test', ...reporters(results, []), ...filterWords(filter)],
        env: { ...unattended, ...withPackagePrograms(input) },
        cwd: below(input.project.path, input.folder),
        ...output,
      }),
    },
  ]
}

/** Beside one of these, the tests in a folder "test" may be of another runner. */
const otherLanguages = ['Gemfile', 'composer.json', 'go.mod', 'Cargo.toml', 'pyproject.toml', 'requirements.txt']
const otherRunners = ['mocha', 'ava', 'tap', 'jasmine', 'vitest', 'jest', 'uvu', 'qunit', 'tape', 'japa']

/** By words: a script may be a very long line, written by anybody. */
function runsTests(line: string): boolean {
  if (!line.includes('--test')) return false
  const words = line.split(/\s+/)
  const program = words.findIndex((word) => word === 'node' || word === 'tsx')
  return program !== -1 && words.includes('--test', program + 1) && !words.some((word) => otherwise.test(word))
}

const otherwise = /^--(watch|experimental-test-coverage|test-update-snapshots)\b/

function common(found: NodePackage) {
  return {
    reason: null,
    filterHelp: 'A regular expression for names of tests (--test-name-pattern).',
    needsSetup: found.own.dependencies.size > 0,
  }
}

const reporterFile = 'stackquay-reporter.mjs'
const output = {
  files: { [reporterFile]: nodeTestReporter },
  results: { format: 'cases', file: 'results.jsonl' },
} as const

/**
 * A script is a shell line of the project's own and runs as it is, by its package manager. Node reads further options from
 * NODE_OPTIONS; options behind the files of a script would not be read as such.
 */
function ofScript(input: SuiteInput, script: string, line: string, filter: string | null, results: string) {
  const manager = String(input.settings?.packageManager ?? 'npm')
  const words = [...reporters(results, line.split(/\s+/)), ...filterWords(filter)]
  return {
    argv: ['/usr/bin/env', manager, 'run', script] as const,
    env: {
      ...unattended,
      ...withPackagePrograms(input),
      NODE_OPTIONS: appended(input.environment.env.NODE_OPTIONS, words.map(quoted).join(' ')),
    },
    cwd: below(input.project.path, input.folder),
    ...output,
  }
}

/** Reporters and destinations must be as many; what the script names itself stays what people see. */
function reporters(results: string, scriptWords: readonly string[]): readonly string[] {
  const count = (option: string) =>
    scriptWords.filter((word) => word === option || word.startsWith(`${option}=`)).length
  const theirs = count('--test-reporter')
  const destinations = count('--test-reporter-destination')
  return [
    `--test-reporter=${results}/${reporterFile}`,
    `--test-reporter-destination=${results}/${output.results.file}`,
    ...(theirs === 0 ? ['--test-reporter=spec'] : []),
    ...(theirs === 0 || (theirs === 1 && destinations === 0) ? ['--test-reporter-destination=stdout'] : []),
  ]
}

function filterWords(filter: string | null): readonly string[] {
  return filter === null ? [] : [`--test-name-pattern=${filter}`]
}

function quoted(word: string): string {
  return `"${word.replace(/["\\]/g, '\\$&')}"`
}

function appended(before: Value | undefined, text: string): Value {
  if (before === undefined) return text
  return typeof before === 'string' ? `${before} ${text}` : [...before, ` ${text}`]
}
