import { openSettings } from '@stackquay/archive'
import { AddonDefinition, addonFaults, databaseTypes, runtimeTypes } from '@stackquay/catalog'
import { BranchesSettings, Hooks, ProblemError } from '@stackquay/contract'
import { isSecretOfCopy, type ProjectSpec, serviceTypesOf, sleepFaults, statusRanges } from '@stackquay/domain'
import {
  type KeptData,
  type ProjectRow,
  type ProjectSource,
  SecretError,
  type Store,
  type StoredRules,
} from '@stackquay/store'
import { z } from 'zod'

/** What the part `settings` holds: all that the service knows of a project, with the texts of its secrets. It exists sealed alone. */
export interface BackedUpSettings {
  readonly format: 1
  readonly spec: ProjectSpec
  readonly source: ProjectSource | null
  /** Texts by the names of secrets: `env/API_KEY`, `database/main/password`, `source/url`. */
  readonly secrets: Readonly<Record<string, string>>
  readonly domains: readonly { readonly host: string; readonly workload: string | null }[]
  readonly rules: StoredRules | null
  readonly keptData: readonly KeptData[]
  /** Names of folders that the part `files` is without. */
  readonly without: readonly string[]
}

/** A secret that cannot be opened any more is left out, and said. */
export async function settingsOf(
  { id, spec, source }: ProjectRow,
  without: readonly string[],
  store: Store,
): Promise<{ readonly settings: BackedUpSettings; readonly warnings: readonly string[] }> {
  const [handles, domains, rules, keptData] = await Promise.all([
    store.secrets.of(id),
    store.network.domains(id),
    store.network.rules(id),
    store.keptData.of(id),
  ])
  const secrets: Record<string, string> = {}
  const warnings: string[] = []
  for (const [name, { secret }] of Object.entries(handles)) {
    if (isSecretOfCopy(name)) continue
    try {
      secrets[name] = (await store.secrets.reveal(secret)).expose()
    } catch (error) {
      if (!(error instanceof SecretError)) throw error
      warnings.push(`The secret ${name} cannot be opened any more and is left out.`)
    }
  }
  const settings = {
    format: 1,
    spec,
    source,
    secrets,
    domains: domains.map(({ host, workload }) => ({ host, workload })),
    rules: rules?.rules ?? null,
    keptData,
    without,
  } as const
  return { settings, warnings }
}

/** Throws `backup_damaged` for what no version of this one has written. */
export async function readSettings(sealed: AsyncIterable<Uint8Array>, identity: string): Promise<BackedUpSettings> {
  const chunks: Uint8Array[] = []
  for await (const chunk of sealed) chunks.push(chunk)
  return settingsFrom(await openSettings(Buffer.concat(chunks), identity))
}

/** Throws `backup_damaged` for what no version of this one has written. */
export function settingsFrom(value: unknown): BackedUpSettings {
  const parsed = Settings.safeParse(value)
  if (!parsed.success)
    throw new ProblemError('backup_damaged', 'The settings of the backup are not understood.', {
      hint: `${parsed.error.issues[0]?.path.join('.') ?? ''}: ${parsed.error.issues[0]?.message ?? ''}`,
    })
  const settings = parsed.data as unknown as BackedUpSettings
  return { ...settings, spec: ofThisVersion(settings.spec) }
}

const Fields = z.record(z.string(), z.unknown())
const Settings = z.object({
  format: z.literal(1),
  spec: z.object({
    name: z.string(),
    runtimes: z.record(z.string(), Fields),
    services: z.record(z.string(), Fields),
    addons: z.record(z.string(), AddonDefinition).optional(),
    databases: z.record(z.string(), z.looseObject({ type: z.string(), version: z.string(), exposePort: z.boolean() })),
    env: z.record(z.string(), z.looseObject({ secret: z.boolean() })),
    healthCheck: z
      .object({
        path: z.string(),
        timeoutSeconds: z.number(),
        status: z
          .string()
          .refine((status) => statusRanges(status) !== null, 'names no statuses')
          .optional(),
        intervalSeconds: z.number().min(5).max(3600).optional(),
        failures: z.int().min(1).max(20).optional(),
      })
      .nullable(),
    limits: Fields.nullable(),
    sleep: z
      .object({ after: z.string().nullable(), hours: z.string().nullable(), timezone: z.string() })
      .refine((sleep) => sleepFaults(sleep).length === 0, 'is no sleep that can be set')
      .optional(),
    branches: BranchesSettings.optional(),
    pull: z.record(z.string(), Fields).optional(),
    hooks: Hooks.optional(),
    workers: z.record(z.string(), Fields).optional(),
    cron: z.record(z.string(), Fields).optional(),
  }),
  source: z.looseObject({ kind: z.enum(['template', 'git', 'folder', 'copy', 'branch', 'empty']) }).nullable(),
  secrets: z.record(z.string(), z.string()),
  domains: z.array(z.object({ host: z.string(), workload: z.string().nullable() })),
  rules: Fields.nullable(),
  keptData: z.array(z.object({ name: z.string(), version: z.string(), keptAt: z.string().nullable() })),
  without: z.array(z.string()),
  /** Of a checkpoint alone. */
  ports: z.array(z.object({ workload: z.string(), port: z.string(), hostPort: z.number() })).optional(),
})

/** What an earlier version had no field for gets its default; what this one has no type for is refused by name. */
function ofThisVersion(spec: ProjectSpec): ProjectSpec {
  for (const [name, addon] of Object.entries(spec.addons ?? {}))
    if (addon.name !== name || addonFaults(addon).length > 0)
      throw new ProblemError('backup_damaged', `The addon "${name}" of the backup is none that can be added.`, {
        hint: 'Nobody but a hand can have written it. Use another backup.',
      })
  const serviceTypes = serviceTypesOf(spec)
  for (const [what, names, known] of [
    ['runtime', Object.keys(spec.runtimes), runtimeTypes],
    ['service', Object.keys(spec.services), serviceTypes],
    ['database type', Object.values(spec.databases).map(({ type }) => type), databaseTypes],
  ] as const) {
    const stranger = names.find((name) => !known.some((type) => type.name === name))
    if (stranger !== undefined)
      throw new ProblemError('unavailable_here', `This version of Stackquay has no ${what} "${stranger}".`, {
        hint: 'Restore it with the version that made the backup, or a later one.',
      })
  }
  const runtimes = runtimeTypes.flatMap(({ name, settings }) => {
    const stored = spec.runtimes[name]
    return stored === undefined ? [] : [[name, { ...settings.defaults(), ...stored }] as const]
  })
  const services = serviceTypes.flatMap(({ name, settings }) => {
    const stored = spec.services[name]
    return stored === undefined ? [] : [[name, { ...settings.defaults(), ...stored }] as const]
  })
  return { ...spec, runtimes: Object.fromEntries(runtimes), services: Object.fromEntries(services) }
}
