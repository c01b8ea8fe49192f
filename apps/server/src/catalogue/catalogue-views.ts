import {
  type DatabaseConnection,
  type DatabaseType,
  databaseTypes,
  type InstallHint,
  type RuntimeType,
  runtimeTypes,
  type ServiceType,
  templates,
} from '@stackquay/catalog'
import {
  DatabasePatch,
  type OfferedRuntime,
  type OfferedTemplate,
  type RuntimesView,
  type ServicesView,
} from '@stackquay/contract'
import type { ToolchainQuery } from '@stackquay/engine-api'
import { z } from 'zod'
import { type FullLine, type InLines, whyNone } from './version-lines.ts'

/** The lines of versions that an engine has of a type. */
export type LinesOf = (
  type: InLines & { readonly toolchain: ToolchainQuery | null } & Pick<ServiceType, 'needs'>,
) => readonly FullLine[]

/** Runtimes and templates, as people choose them. */
export function runtimesView(linesOf: LinesOf): Omit<z.output<typeof RuntimesView>, 'engine'> {
  const runtimes = runtimeTypes.map(
    (type): OfferedRuntime => ({
      ...offered(type, linesOf),
      presets: type.presets.map(({ name, label, port, summary }) => ({ name, label, port, summary })),
      modes: ['development', 'production'],
      settingsSchema: jsonSchema(type.settings.patch),
    }),
  )
  return { runtimes, templates: templates.map((template) => offeredTemplate(template, runtimes)) }
}

/** Databases and services, as people choose them. */
export function servicesView(
  linesOf: LinesOf,
  serviceTypes: readonly ServiceType[],
): Omit<z.output<typeof ServicesView>, 'engine'> {
  const databases = databaseTypes.map((type) => ({
    ...offered(type, linesOf),
    keepsData: type.keepsData,
    kind: 'database' as const,
    aliases: [...type.aliases],
    alwaysPublished: false,
    hasCredentials: true,
    hasKeys: false,
    hasInbox: false,
    ports: [{ name: type.name, port: type.port, published: true }],
    injects: Object.keys(type.variables(exampleConnection, '')),
    settingsSchema: jsonSchema(
      type.pointInTime === undefined ? DatabaseSettings.omit({ pointInTime: true }) : DatabaseSettings,
    ),
  }))
  const services = serviceTypes.map((type) => ({
    ...offered(type, linesOf),
    keepsData: type.keepsData,
    kind: 'service' as const,
    aliases: [],
    ...(type.under === undefined ? {} : { under: type.under }),
    alwaysPublished: type.alwaysPublished,
    hasCredentials: type.credentials !== undefined,
    hasKeys: type.hasKeys === true,
    hasInbox: type.inboxPort !== undefined,
    ports: type.ports.map(({ name, port, published }) => ({ name, port, published })),
    injects: [...type.injects],
    settingsSchema: jsonSchema(type.settings.patch),
  }))
  return { items: [...databases, ...services] }
}

/** What every type says of itself, and which of its versions there are. */
function offered(type: RuntimeType | DatabaseType | ServiceType, linesOf: LinesOf) {
  const versions = linesOf(type)
  const available = versions.some((line) => line.available)
  return {
    name: type.name,
    label: type.label,
    summary: type.summary,
    available,
    reason: available ? null : whyNone(type, versions),
    install: available ? null : type.install.debian,
    versions: versions.map((line) => viewOfLine(line, type.install)),
  }
}

function viewOfLine(line: FullLine, install: InstallHint) {
  return {
    version: line.version,
    fullVersion: line.full,
    default: line.default,
    available: line.available,
    reason: line.reason,
    install: line.available ? null : install.debian,
    endOfLife: line.endOfLife,
  }
}

function offeredTemplate(template: (typeof templates)[number], runtimes: readonly OfferedRuntime[]): OfferedTemplate {
  const runtime = runtimes.find((candidate) => candidate.name === template.runtime)
  return {
    name: template.name,
    label: template.label,
    summary: template.summary,
    runtime: template.runtime,
    databases: Object.values((template.project.databases ?? {}) as Record<string, { type: string }>).map(
      (database) => database.type,
    ),
    example: template.folder.startsWith('examples/'),
    available: runtime?.available ?? false,
    reason: runtime?.reason ?? null,
    install: runtime?.install ?? null,
  }
}

const DatabaseSettings = DatabasePatch.omit({ type: true, primary: true, hostPort: true, recovered: true }).partial()

/** For asking a kind which variables it gives; their values are not looked at. */
const exampleConnection: DatabaseConnection = {
  database: 'main',
  username: 'main',
  host: '127.0.0.1',
  port: 1,
  secret: () => '',
}

/** Made once for each schema: asked for again and again while a page is open. */
const schemas = new WeakMap<z.ZodType, Record<string, unknown>>()
function jsonSchema(schema: z.ZodType): Record<string, unknown> {
  const known = schemas.get(schema)
  if (known !== undefined) return known
  const made = z.toJSONSchema(schema, { io: 'input' }) as Record<string, unknown>
  schemas.set(schema, made)
  return made
}
