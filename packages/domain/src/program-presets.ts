import {
  procfile,
  procfileLines,
  type RuntimeType,
  runtimeTypes,
  type Settings,
  type SourceFiles,
} from '@stackquay/catalog'
import { programNamePattern } from '@stackquay/contract'
import { commandText, readCommand } from './command-line.ts'
import { packageFolder } from './resolve-connections.ts'
import { runtimeOf } from './resolve-workers.ts'
import type { ProjectSpec } from './spec.ts'

/** A worker, or a cron job where it has a schedule, that the source suggests. */
export interface FoundPreset {
  readonly name: string
  readonly runtime: string
  readonly label: string
  readonly command: readonly string[]
  readonly because: string
  readonly schedule: string | null
}

/** Files of the source that the presets are found in. */
export function presetFiles(spec: ProjectSpec): readonly string[] {
  const own = enabled(spec).flatMap(({ kind, folder }) => kind.programs.files.map((file) => inFolder(folder, file)))
  return [...new Set([...own, procfile])]
}

/** Pure. What the dependencies and the Procfile suggest, without what the project has: the same command, or the same name. */
export function programPresets(spec: ProjectSpec, source: SourceFiles): readonly FoundPreset[] {
  const found = enabled(spec).flatMap(({ kind, settings, folder }) =>
    kind.programs.find(below(source, folder), settings).map((preset) => ({
      ...preset,
      runtime: kind.name,
      schedule: preset.schedule ?? null,
    })),
  )
  const programs = [...Object.entries(spec.workers ?? {}), ...Object.entries(spec.cron ?? {})]
  const commands = new Set(programs.map(([, { command }]) => commandText(command)))
  const names = new Set(programs.map(([name]) => name))
  return [...found, ...ofProcfile(spec, source)].filter((preset) => {
    if (names.has(preset.name) || commands.has(commandText(preset.command))) return false
    names.add(preset.name)
    commands.add(commandText(preset.command))
    return true
  })
}

/** A line that needs a shell is left as it is for one. */
function ofProcfile(spec: ProjectSpec, source: SourceFiles): readonly FoundPreset[] {
  const runtime = runtimeOf(spec, null)
  if (runtime === null) return []
  return procfileLines(source).flatMap((line) => {
    const name = line.name.toLowerCase().replaceAll('_', '-')
    if (!programNamePattern.test(name) || /-\d+$/.test(name)) return []
    const read = readCommand(line.command)
    const command = read.ok ? read.words : ['sh', '-c', line.command]
    const because = `${procfile} has the line ${line.name}`
    return [{ name, runtime: runtime.name, label: line.name, command, because, schedule: null }]
  })
}

function enabled({ runtimes }: ProjectSpec): readonly {
  readonly kind: RuntimeType
  readonly settings: Settings
  readonly folder: string
}[] {
  return runtimeTypes.flatMap((kind) => {
    const settings = runtimes[kind.name]
    return settings?.enabled === true ? [{ kind, settings, folder: packageFolder(settings) }] : []
  })
}

function inFolder(folder: string, file: string): string {
  return [...folder.split('/').filter((part) => part !== '' && part !== '.'), file].join('/')
}

function below(source: SourceFiles, folder: string): SourceFiles {
  const start = inFolder(folder, '')
  return Object.fromEntries(
    Object.entries(source).flatMap(([file, content]) =>
      file.startsWith(start) ? [[file.slice(start.length), content] as const] : [],
    ),
  )
}
