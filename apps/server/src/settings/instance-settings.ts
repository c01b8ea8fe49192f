import {
  type InstanceSetting,
  type InstanceSettingKey,
  type InstanceSettings,
  type InstanceSettingValue,
  instanceSettingKeys,
} from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import { z } from 'zod'
import { type Config, readConfig } from '../config.ts'
import { settings } from '../environment.ts'
import { settingDefinitions } from './definitions.ts'
import { type Effective, effectiveConfig, type StoredSettings } from './effective.ts'
import { storedRegistries } from './registries.ts'

export const settingsName = 'instance.settings'

/** The settings of the instance as they are stored, and the config that the service runs with. */
export interface LiveSettings {
  readonly stored: () => StoredSettings
  /** What the next start would run with. */
  wanted(stored?: StoredSettings): Effective
  /** After they were written: what needs no restart holds from now on. Answers the keys that became others. */
  apply(stored: StoredSettings): readonly InstanceSettingKey[]
  view(): Promise<InstanceSettings>
}

/** Brings `running` to what is stored. `base` is what the environment and the defaults make; it stays as it is. */
export async function openLiveSettings(
  store: Pick<Store, 'settings'>,
  { base, running }: { readonly base: Config; readonly running: Config },
): Promise<LiveSettings> {
  let stored = (await store.settings.get<StoredSettings>(settingsName)) ?? {}
  const atStart = stored
  const wanted = (of = stored) => effectiveConfig(base, of)
  Object.assign(running, wanted().config)
  const defaults = readConfig({ STACKQUAY_HOME: base.home, STACKQUAY_PROJECTS_DIR: base.projectsDir })

  return {
    stored: () => stored,
    wanted,
    apply: (next) => {
      stored = next
      const kept = instanceSettingKeys.filter((key) => settingDefinitions[key].restart)
      const live = { ...next, ...Object.fromEntries(kept.map((key) => [key, atStart[key]])) }
      const before = { ...running }
      Object.assign(running, effectiveConfig(base, live).config)
      return instanceSettingKeys.filter((key) => !isSame(shown(key, before), shown(key, running)))
    },
    view: async () => {
      const { config, ignored } = wanted()
      const items = instanceSettingKeys.map((key): InstanceSetting => {
        const { variable, restart, passwordAgain } = settingDefinitions[key]
        const isStored = stored[key] !== undefined && ignored[key] === undefined
        const value = shown(key, config)
        return {
          ...{ key, value, default: shown(key, defaults), variable, restart, passwordAgain },
          source: base.given.has(variable) ? 'environment' : isStored ? 'stored' : 'default',
          choices: choicesOf(variable),
          description: settings[variable].description ?? '',
          pending: restart && !isSame(value, shown(key, running)),
          ignored: ignored[key] ?? null,
        }
      })
      const registries = Object.entries(await storedRegistries(store)).map(([host, { username }]) => ({
        host,
        username,
      }))
      return { items, registries: registries.sort((a, b) => a.host.localeCompare(b.host)) }
    },
  }
}

/** Of a variable that takes one of a few words. */
function choicesOf(variable: keyof typeof settings): string[] | null {
  const schema = settings[variable]
  const inner = schema instanceof z.ZodDefault ? schema.unwrap() : schema
  return inner instanceof z.ZodEnum ? inner.options.map(String) : null
}

export function shown(key: InstanceSettingKey, config: Config): InstanceSettingValue {
  return settingDefinitions[key].show(config)
}

export function isSame(a: InstanceSettingValue, b: InstanceSettingValue): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
