import type { ProcessRun, RequiredFile, Value } from '@stackquay/engine-api'
import { type Listen, type RuntimeInput, SettingsError } from '../../entry-types.ts'
import { below, inSource, onPath, place } from '../../server-workload.ts'
import { largestPackageFile } from '../../source-json.ts'
import { type PackageJson, readPackageJson } from './package-json.ts'
import { type PackageManager, packageManagerCommand, runScriptWords } from './package-manager.ts'
import { type NodePreset, presetOf, type Run } from './presets.ts'
import { isAssignment, programOf, simpleScript } from './simple-script.ts'

/** Which of the two processes: the server, or the development server beside another runtime. */
export interface Target {
  readonly preset: string
  readonly script: string | null
  /** Where the settings say `script`, with `/` between names, for errors. */
  readonly field: string
  readonly mode: 'development' | 'production'
  readonly listen: Listen
  /** Where the debugger listens, null when it is closed. */
  readonly debug: Listen | null
}

export interface Launch {
  readonly argv: ProcessRun['argv']
  readonly env: Readonly<Record<string, Value>>
  readonly requires: readonly RequiredFile[]
}

/** How a process is started: by a script of package.json, by the framework's program, or by running a file. */
export function launch(input: RuntimeInput, target: Target): Launch {
  const folder = input.settings.package as string
  const packageJson = readPackageJson(input.source, inSource(folder, 'package.json'))
  const preset = presetOf(target.preset)
  const run = preset[target.mode]

  if (target.script !== null) {
    if (packageJson === null) return waiting(input)
    if (!(target.script in packageJson.scripts)) throw missingScript(target.field, target.script, packageJson)
    return byScript(input, target, packageJson.scripts, target.script)
  }
  const script = packageJson === null ? undefined : presetScript(preset, target.mode, packageJson)
  if (packageJson !== null && script !== undefined) return byScript(input, target, packageJson.scripts, script)
  if (preset.program !== null && run.words !== null) {
    if (packageJson === null) return waiting(input)
    return byProgram(target, run, [preset.program, ...run.words])
  }
  const file = entryFile(input, run, preset, packageJson)
  if (file !== null) return byFile(input, target, run, file)
  if (packageJson === null) return waiting(input)
  throw missingScript(target.field, preset.scripts[target.mode].join('" or "'), packageJson)
}

/** A script of the preset counts for a framework only when it is a plain call of it: else we know better what serves. */
function presetScript(preset: NodePreset, mode: Target['mode'], packageJson: PackageJson): string | undefined {
  return preset.scripts[mode].find((name) => {
    const text = packageJson.scripts[name]
    if (text === undefined) return false
    return preset.program === null || (simpleScript(text)?.includes(preset.program) ?? false)
  })
}

function byScript(
  input: RuntimeInput,
  target: Target,
  scripts: Readonly<Record<string, string>>,
  name: string,
): Launch {
  const preset = presetOf(target.preset)
  const run = preset[target.mode]
  const text = scripts[name] ?? ''
  const words = `pre${name}` in scripts || `post${name}` in scripts ? null : simpleScript(text)
  if (words !== null) {
    const isFramework = preset.program !== null && words.includes(preset.program)
    if (isFramework) return byProgram(target, run, words)
    return { argv: onPath(debugged(words, target)), env: lifecycle(name), requires: [] }
  }
  if (target.debug !== null) {
    throw new SettingsError(
      'debug',
      `The script "${name}" needs a shell, so the debugger cannot be opened for its server alone.`,
      'Choose a script that only calls one program, such as "node server.js", or set "debug" to false.',
    )
  }
  const flags = endsInProgram(text, preset.program) ? run.flags(target.listen) : []
  const manager = input.settings.packageManager as PackageManager
  return { argv: packageManagerCommand(input, runScriptWords(manager, name, flags)), env: {}, requires: [] }
}

/** Whether arguments added to a script reach the framework: they go to its last command. */
function endsInProgram(script: string, program: string | null): boolean {
  const last = script.split(/&&|\|\||[;&|]/).at(-1) ?? ''
  return program !== null && last.split(/\s+/).includes(program)
}

function lifecycle(script: string) {
  return { npm_lifecycle_event: script }
}

/** Puts the debugger's flag behind the word `node` of a simple script. */
function debugged(words: readonly string[], target: Target): readonly string[] {
  if (target.debug === null) return words
  const at = words.findIndex((word) => !isAssignment(word))
  if (programOf(words) !== 'node') {
    throw new SettingsError(
      'debug',
      `The debugger cannot be opened for "${programOf(words)}": it may start the server as another process.`,
      'Choose a script that calls node itself, such as "node server.js", or set "debug" to false.',
    )
  }
  return [...words.slice(0, at + 1), inspect(target.debug), ...words.slice(at + 1)]
}

function byProgram(target: Target, run: Run, words: readonly string[]): Launch {
  const argv = onPath([...words, ...run.flags(target.listen)])
  if (target.debug === null) return { argv, env: {}, requires: [] }
  if (run.debug === null) {
    throw new SettingsError(
      'debug',
      `The preset "${target.preset}" has no debugger in ${target.mode} mode.`,
      'Set "debug" to false.',
    )
  }
  if (run.debug === 'node') return { argv, env: { NODE_OPTIONS: inspect(target.debug) }, requires: [] }
  return { argv: [...argv, ...run.debug(target.debug)], env: {}, requires: [] }
}

function inspect(listen: Listen): string {
  return `--inspect=${place(listen)}`
}

/** The file that is run with Node. What a build makes is not looked for: it is not there yet. */
function entryFile(input: RuntimeInput, run: Run, preset: NodePreset, packageJson: PackageJson | null): string | null {
  if (preset.program !== null) return run.files[0] ?? null
  const folder = input.settings.package as string
  return run.files.find((file) => inSource(folder, file) in input.source) ?? packageJson?.main ?? null
}

function byFile(input: RuntimeInput, target: Target, run: Run, file: string): Launch {
  const path = below(below(input.project.path, input.settings.package as string), file)
  const isBuilt = presetOf(target.preset).program !== null
  return {
    argv: [
      input.toolchain.program,
      ...(target.debug === null || run.debug === null ? [] : [inspect(target.debug)]),
      ...(target.mode === 'development' ? ['--watch', '--watch-preserve-output'] : []),
      path,
    ],
    env: {},
    requires: isBuilt ? [] : [{ anyOf: [path], hint: `${file} is missing: add it, or set "script".` }],
  }
}

/** Without package.json nothing is known yet: the workload waits for it and is resolved again when it is there. */
function waiting(input: RuntimeInput): Launch {
  const folder = below(input.project.path, input.settings.package as string)
  return {
    argv: [input.toolchain.program, '.'],
    env: {},
    requires: [
      {
        anyOf: [`${folder}/package.json`],
        hint: `No package.json in ${folder}: add one, or choose the runtime "static" for plain files.`,
      },
    ],
  }
}

function missingScript(field: string, script: string, packageJson: PackageJson): SettingsError {
  const names = Object.keys(packageJson.scripts).slice(0, mostNamed)
  if (packageJson.tooMuch) return tooMuchToRead(field)
  return new SettingsError(
    field,
    `package.json has no script "${script}".`,
    names.length === 0
      ? 'It has no scripts at all: add one that starts the server.'
      : `Add it, or set "${field.replace('/', '.')}" to one that is there: ${names.map((name) => `"${name}"`).join(', ')}.`,
  )
}

const mostNamed = 20

function tooMuchToRead(field: string): SettingsError {
  const limit = largestPackageFile / 1024
  return new SettingsError(
    field,
    `package.json is larger than ${limit} KiB, or is nested too deeply, and is not read.`,
    'Make it shorter.',
  )
}
