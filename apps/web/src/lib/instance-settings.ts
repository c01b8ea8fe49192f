import type { InstanceSetting, InstanceSettingKey } from '@stackquay/contract'

/** What a person has typed so far, by key; null: back to the default. */
export type SettingEdits = Readonly<Partial<Record<InstanceSettingKey, string | null>>>

/** The groups of the form, and what is in them. A test sees to it that every setting is in one. */
export const settingGroups = {
  addresses: ['publicUrl', 'listen', 'baseDomain', 'proxyHttp', 'proxyHttps', 'ssh', 'trustedProxies'],
  tls: ['tlsLocal', 'tlsRedirect', 'tlsHstsSeconds'],
  network: ['portRange', 'publishAddress', 'shareProviders', 'shareSsh'],
  projects: ['engine', 'isolation', 'allowedRoots', 'imageMap'],
  backups: ['backupCron', 'backupTimezone', 'backupTargets'],
  kept: ['trashDays', 'auditMaxDays', 'metricsMaxDays', 'logMaxMb', 'logMaxDays', 'logLevel'],
  logsOut: ['logExportUrl', 'logExportProjects'],
  limits: [
    'awakeMaxMb',
    'runMaxMinutes',
    'terminalIdleHours',
    'sessionIdleHours',
    'sessionMaxDays',
    'requireSecondFactor',
  ],
  updates: ['updateUrl'],
} as const satisfies Record<string, readonly InstanceSettingKey[]>

export type SettingGroup = keyof typeof settingGroups

export const isList = ({ default: usual }: Pick<InstanceSetting, 'default'>) => Array.isArray(usual)
export const isNumber = ({ default: usual }: Pick<InstanceSetting, 'default'>) => typeof usual === 'number'

/** A value as it stands in a field: a list has a line for each member. */
export function settingText(value: InstanceSetting['value']): string {
  if (value === null) return ''
  return Array.isArray(value) ? value.join('\n') : String(value)
}

/** What a field shows: what was typed, else what is. */
export function shownText(item: InstanceSetting, edits: SettingEdits): string {
  const edit = edits[item.key]
  if (edit === undefined) return settingText(item.value)
  return edit === null ? settingText(item.default) : edit
}

/** The settings that are to be other than they are, as a PATCH takes them. */
export function settingChanges(
  items: readonly InstanceSetting[],
  edits: SettingEdits,
): Partial<Record<InstanceSettingKey, InstanceSetting['value']>> {
  return Object.fromEntries(
    items.flatMap((item) => {
      const edit = edits[item.key]
      if (edit === undefined) return []
      if (edit === null) return item.source === 'stored' || item.ignored !== null ? [[item.key, null]] : []
      if (edit.trim() === settingText(item.value)) return []
      return [[item.key, typedValue(item, edit)]]
    }),
  )
}

function typedValue(item: InstanceSetting, text: string): InstanceSetting['value'] {
  if (isList(item)) {
    const lines = text.split('\n').map((line) => line.trim())
    return lines.filter((line) => line !== '')
  }
  const trimmed = text.trim()
  if (trimmed === '') return null
  // What is no number is the service's to refuse, in its words.
  return isNumber(item) && Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed
}
