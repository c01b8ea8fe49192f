import type { Plan, ProjectView } from '@stackquay/contract'
import type { Command } from 'commander'
import { type ChangeFlags, changeProject } from '../change-project.ts'
import type { Context } from '../context.ts'
import type { OfferedType } from '../offered.ts'
import { eachOf } from '../options.ts'
import { type PurgeFlags, purgeQuery } from '../purge-option.ts'
import { readSettings, type TypedSetting, typedSetting } from './read-settings.ts'
import { settingsOf } from './settings.ts'

export interface SettingFlags extends ChangeFlags, PurgeFlags {
  readonly version?: string
  readonly expose?: boolean
  readonly set?: readonly string[]
  readonly setStdin?: readonly string[]
}

export function addSettingOptions(command: Command): Command {
  return command
    .option('--version <version>', 'one of those that are offered')
    .option('--set <key=value>', 'a setting; can be given more than once', eachOf)
    .option('--set-stdin <key>', 'a secret: asked for without showing it, or read from standard input', eachOf)
}

export function addExposeOptions(command: Command): Command {
  return command
    .option('--expose', 'make its port reachable for programs on the service’s machine')
    .option('--no-expose', 'make it reachable for the project alone')
}

/** Settings as they were typed, whichever option said them. */
export function typedSettings({ version, expose, set = [], setStdin = [] }: SettingFlags): readonly TypedSetting[] {
  return [
    ...(version === undefined ? [] : [{ key: 'version', text: version }]),
    ...(expose === undefined ? [] : [{ key: 'exposePort', text: String(expose) }]),
    ...set.map(typedSetting),
    ...setStdin.map((key) => ({ key, text: null })),
  ]
}

/** Changes one runtime or service of a project; null when only the plan was asked for. */
export async function changeSettings(
  context: Context,
  id: string,
  kind: OfferedType,
  fixed: Readonly<Record<string, boolean>>,
  flags: SettingFlags,
  agree?: (plan: Plan) => Promise<void>,
): Promise<ProjectView | null> {
  const settings = settingsOf(kind.settingsSchema)
  const sent = await readSettings(kind.name, settings, typedSettings(flags), context.world)
  const input = { params: { id }, query: purgeQuery(flags.purge), body: bodyOf(kind, { ...sent, ...fixed }) }
  return changeProject(context, 'updateProject', input, flags, agree)
}

/** Settings stand below the name of their type, or below the key that it names. */
function bodyOf(kind: OfferedType, settings: Readonly<Record<string, unknown>>) {
  const body = { [kind.name]: settings }
  return 'under' in kind && kind.under !== undefined ? { [kind.under]: body } : body
}

/** What a project says about one of its runtimes or services; null when it was never set up. */
export function settingsIn(project: ProjectView, name: string): Readonly<Record<string, unknown>> | null {
  const settings = project[name] ?? project.addons?.[name]
  return typeof settings === 'object' && settings !== null ? (settings as Record<string, unknown>) : null
}

/** `external.host  cache.example`, field by field. */
export function settingRows(settings: Readonly<Record<string, unknown>>, prefix = ''): [string, string][] {
  return Object.entries(settings).flatMap(([name, value]): [string, string][] => {
    const key = `${prefix}${name}`
    if (Array.isArray(value)) return [[key, value.map(String).join(',')]]
    if (typeof value === 'object' && value !== null) return settingRows(value as Record<string, unknown>, `${key}.`)
    return [[key, value === null ? '-' : String(value)]]
  })
}
