import { z } from 'zod'

/** In the order in which people read them. What each means and takes stands with its environment variable, in the service. */
export const instanceSettingKeys = [
  'publicUrl',
  'listen',
  'proxyHttp',
  'proxyHttps',
  'tlsLocal',
  'tlsRedirect',
  'tlsHstsSeconds',
  'ssh',
  'baseDomain',
  'trustedProxies',
  'publishAddress',
  'portRange',
  'shareProviders',
  'shareSsh',
  'engine',
  'isolation',
  'allowedRoots',
  'imageMap',
  'backupCron',
  'backupTimezone',
  'backupTargets',
  'trashDays',
  'auditMaxDays',
  'metricsMaxDays',
  'logMaxMb',
  'logMaxDays',
  'logExportUrl',
  'logExportProjects',
  'awakeMaxMb',
  'runMaxMinutes',
  'terminalIdleHours',
  'sessionIdleHours',
  'sessionMaxDays',
  'requireSecondFactor',
  'updateUrl',
  'logLevel',
] as const
export type InstanceSettingKey = (typeof instanceSettingKeys)[number]

const Key = z.enum(instanceSettingKeys).meta({ id: 'InstanceSettingKey', description: 'Name of a setting.' })

const Value = z
  .union([z.string().max(1000), z.number(), z.array(z.string().max(1000)).max(200)])
  .nullable()
  .meta({ id: 'InstanceSettingValue', description: 'Text, number or list; null: none.' })
export type InstanceSettingValue = z.infer<typeof Value>

export const InstanceSetting = z
  .object({
    key: Key,
    value: Value,
    default: Value,
    choices: z.array(z.string()).nullable().describe('What it can be; null: anything of its form.'),
    source: z.enum(['default', 'stored', 'environment']).describe('Where the value comes from.'),
    variable: z.string().describe('The environment variable that wins over what is stored.'),
    description: z.string().describe('What it means.'),
    restart: z.boolean().describe('Whether a change waits for the next start of the service.'),
    pending: z.boolean().describe('Whether one waits now.'),
    passwordAgain: z.boolean().describe('Whether a change takes a browser session and the password.'),
    ignored: z.string().nullable().describe('Why a stored value is not used; null: it is, or there is none.'),
  })
  .meta({ id: 'InstanceSetting' })
export type InstanceSetting = z.infer<typeof InstanceSetting>

const Registry = z
  .object({
    host: z.string().describe('`ghcr.io`, `registry.example.org:5000`.'),
    username: z.string().describe('User name there.'),
  })
  .meta({ id: 'ImageRegistry' })

export const InstanceSettings = z
  .object({
    items: z.array(InstanceSetting).describe('Every setting.'),
    registries: z.array(Registry).describe('Registries with a stored login.'),
  })
  .meta({ id: 'InstanceSettings' })
export type InstanceSettings = z.infer<typeof InstanceSettings>

export const registryHostPattern = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?(:\d{1,5})?$/

const RegistryLogin = z
  .strictObject({
    username: z.string().min(1).max(200).describe('User name there.'),
    password: z.string().min(1).max(10_000).describe('Password or token; never answered.'),
  })
  .meta({ id: 'ImageRegistryLogin' })

export const InstanceSettingsPatch = z
  .strictObject({
    settings: z.partialRecord(Key, Value).optional().describe('By key; null returns to the default.'),
    registries: z
      .record(z.string().max(260), RegistryLogin.nullable())
      .optional()
      .describe('Logins by host; null removes one.'),
    password: z.string().min(1).max(256).optional().describe('Your own, where `passwordAgain` says so.'),
  })
  .meta({ id: 'InstanceSettingsPatch' })
export type InstanceSettingsPatch = z.infer<typeof InstanceSettingsPatch>
