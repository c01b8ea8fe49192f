import { type InstanceSettingKey, type InstanceSettingValue, instanceSettingKeys } from '@stackquay/contract'
import { type Config, ConfigError } from '../config.ts'
import { settings } from '../environment.ts'
import { settingDefinitions } from './definitions.ts'

/** As they are kept: what differs from the default by an administrator's word. */
export type StoredSettings = Readonly<Partial<Record<InstanceSettingKey, InstanceSettingValue>>>

export interface Effective {
  readonly config: Config
  /** Stored, but not used: an update of the service may ask more of a value than before. */
  readonly ignored: Readonly<Partial<Record<InstanceSettingKey, string>>>
}

/**
 * What the service runs with: the environment wins over what is stored, which wins over the default. `base` is what the environment and
 * the defaults make. A stored value that is not valid is left out, because the service must start so that somebody can correct it.
 */
export function effectiveConfig(base: Config, stored: StoredSettings): Effective {
  let config = base
  const ignored: Partial<Record<InstanceSettingKey, string>> = {}
  for (const key of keysInOrder) {
    const value = stored[key]
    if (value === undefined || value === null || base.given.has(settingDefinitions[key].variable)) continue
    const read = readSetting(key, value, config)
    if (read.ok) config = { ...config, ...read.fields }
    else ignored[key] = read.detail
  }
  return { config, ignored }
}

/** The public address is last: without one it follows the listen address. */
const keysInOrder = [...instanceSettingKeys].sort((a, b) => Number(a === 'publicUrl') - Number(b === 'publicUrl'))

export type ReadSetting =
  | { readonly ok: true; readonly fields: Partial<Config> }
  | { readonly ok: false; readonly detail: string }

/** By the schema of its variable, so that both places take the same. */
export function readSetting(key: InstanceSettingKey, value: InstanceSettingValue, config: Config): ReadSetting {
  const { variable, separator, into } = settingDefinitions[key]
  const shape = shapeFault(value, separator)
  if (shape !== null) return { ok: false, detail: shape }
  const text = Array.isArray(value) ? value.join(separator ?? '') : String(value)
  const parsed = parsedText(variable, text, Array.isArray(value))
  if (!parsed.success) return { ok: false, detail: sentence(parsed.error.issues.map(({ message }) => message)) }
  try {
    return { ok: true, fields: into(parsed.data, config) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    // People who set it here have no variable.
    return { ok: false, detail: error.message.replace(`${variable} is not valid: `, '') }
  }
}

/** A variable that is empty is one that is not set; an empty list is a value of its own. */
function parsedText(variable: keyof typeof settings, text: string, isList: boolean) {
  const parsed = settings[variable].safeParse(text)
  return !parsed.success && isList && text === '' ? ({ success: true, data: '' } as const) : parsed
}

/** A member with the separator in it would be two, and one that begins with "@" names a file to the variable. */
function shapeFault(value: InstanceSettingValue, separator: string | null): string | null {
  if (value === '') return 'It is empty; null returns to the default.'
  if (separator === null) return Array.isArray(value) ? 'It is one value, no list.' : null
  if (!Array.isArray(value)) return 'It is a list.'
  const odd = value.find((one) => one.trim() === '' || one.includes(separator) || /^@|^\{|[\n\r\0]/.test(one))
  return odd === undefined ? null : `${JSON.stringify(odd)} cannot be a member of the list.`
}

function sentence(messages: readonly string[]): string {
  const text = messages.join('; ')
  return `It ${/^(must|has)/.test(text) ? text : `is not valid: ${text}`}.`
}
