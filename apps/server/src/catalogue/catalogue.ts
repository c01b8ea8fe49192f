import {
  type ChosenToolchain,
  type DatabaseConnection,
  type DatabaseType,
  databaseTypes,
  type InstallHint,
  type Release,
  runtimeTypes,
  type ServiceType,
  serviceTypes,
  templates,
} from '@stackquay/catalog'
import {
  DatabasePatch,
  type EngineName,
  type OfferedRuntime,
  type OfferedTemplate,
  type RuntimesView,
  type ServicesView,
} from '@stackquay/contract'
import type { OfferedLine, Offers } from '@stackquay/domain'
import type { Engine, Toolchain, ToolchainQuery } from '@stackquay/engine-api'
import { z } from 'zod'
import { engineKind } from '../engine-kinds.ts'

/** What this machine can run: the catalogue joined with the programs that the engine found. */
export interface Catalogue {
  /** Looks at the machine again. The first look begins at boot; whoever asks before it ended waits for it. */
  refresh(): Promise<void>
  /** Of the engine that new projects get, unless another is named. */
  offers(engine?: EngineName): Promise<Offers>
  /** The same after another look, unless the last was a moment ago: before somebody is told that something is missing. */
  offersAnew(engine?: EngineName): Promise<Offers>
  toolchain(name: string, line: string): ChosenToolchain | null
  helpers(runtime: string): Readonly<Record<string, ChosenToolchain>>
  runtimes(engine?: EngineName): Promise<z.output<typeof RuntimesView>>
  services(engine?: EngineName): Promise<z.output<typeof ServicesView>>
  toolchains(): Promise<readonly Toolchain[]>
  /** Node that runs programs of ours. */
  ourNode(): string
}

type Liner = {
  readonly label: string
  readonly releases: readonly Release[]
  readonly install: InstallHint
  lineOf(version: string): string
}

/** So old may the look at the machine be that a catalogue is told from. */
const freshMs = 10_000

export interface CatalogueOptions {
  readonly engine: Pick<Engine, 'toolchains'>
  /** The engine that new projects get. */
  readonly usual: EngineName
  readonly signal: AbortSignal
  /** Runs programs of ours where no other Node was found. */
  readonly fallbackNode: string
}

export function createCatalogue({ engine, usual, signal, fallbackNode }: CatalogueOptions): Catalogue {
  let found: readonly Toolchain[] = []
  let first: Promise<void> | null = null
  const queries = allQueries()

  let lookedAt = 0
  const offered = new Map<EngineName, Offers>()

  const look = async () => {
    lookedAt = Date.now()
    found = await engine.toolchains(queries, signal)
    offered.clear()
  }
  const ready = () => {
    first ??= look()
    return first
  }
  /** Somebody may have installed what was missing: who asks what there is gets what there is now. */
  const readyAnew = async () => {
    await ready()
    if (Date.now() - lookedAt >= freshMs) await look()
  }

  /** An engine of images has every release; one of this machine has what was found. */
  const linesOf = (kind: Liner, query: ToolchainQuery | null, of: EngineName): readonly FullLine[] => {
    if (query === null || engineKind(of).capabilities.images) {
      return kind.releases.map((release, index) => ({
        ...release,
        available: true,
        default: index === 0,
        reason: null,
        full: null,
      }))
    }
    return withDefault(
      mergeLines(
        kind,
        found.filter((toolchain) => toolchain.name === query.name),
      ),
    )
  }

  const chosen = (name: string, line: string | null, lineOf: (version: string) => string): ChosenToolchain | null => {
    const fit = found
      .filter(
        (toolchain) =>
          toolchain.name === name && toolchain.available && (line === null || lineOf(toolchain.version) === line),
      )
      .sort((a, b) => Number(b.bundled) - Number(a.bundled) || compareVersions(b.version, a.version))[0]
    return fit === undefined ? null : { version: fit.version, program: fit.program, directory: fit.directory }
  }

  const offersOf = (of: EngineName): Offers => {
    const known = offered.get(of)
    if (known !== undefined) return known
    const lines = (kinds: readonly (Liner & { name: string; toolchain: ToolchainQuery | null })[]) =>
      Object.fromEntries(kinds.map((kind) => [kind.name, linesOf(kind, kind.toolchain, of)]))
    const made = { runtimes: lines(runtimeTypes), databases: lines(databaseTypes), services: lines(serviceTypes) }
    offered.set(of, made)
    return made
  }

  return {
    refresh: async () => {
      first = look()
      await first
    },
    offers: async (of = usual) => {
      await ready()
      return offersOf(of)
    },
    offersAnew: async (of = usual) => {
      await readyAnew()
      return offersOf(of)
    },
    toolchain: (name, line) => {
      const kind = [...runtimeTypes, ...databaseTypes, ...serviceTypes].find(
        (candidate) => candidate.toolchain?.name === name,
      )
      return chosen(name, line, (version) => kind?.lineOf(version) ?? version)
    },
    helpers: (runtime) => {
      const kind = runtimeTypes.find((candidate) => candidate.name === runtime)
      const pairs = (kind?.helpers ?? []).map(
        (query) => [query.name, chosen(query.name, null, (version) => version)] as const,
      )
      return Object.fromEntries(pairs.filter((pair): pair is [string, ChosenToolchain] => pair[1] !== null))
    },
    runtimes: async (of = usual) => {
      await readyAnew()
      const offered = runtimeTypes.map((kind): OfferedRuntime => {
        const versions = linesOf(kind, kind.toolchain, of)
        const available = versions.some((line) => line.available)
        return {
          name: kind.name,
          label: kind.label,
          summary: kind.summary,
          available,
          reason: available ? null : whyNone(kind, versions),
          install: available ? null : kind.install.debian,
          versions: versions.map((line) => viewOfLine(line, kind.install)),
          presets: kind.presets.map(({ name, label, port, summary }) => ({ name, label, port, summary })),
          modes: ['development', 'production'],
          settingsSchema: jsonSchema(kind.settings.patch),
        }
      })
      return {
        engine: of,
        runtimes: offered,
        templates: templates.map((template) => offeredTemplate(template, offered)),
      }
    },
    services: async (of = usual) => {
      await readyAnew()
      const shared = (kind: DatabaseType | ServiceType) => {
        const versions = linesOf(kind, kind.toolchain, of)
        const available = versions.some((line) => line.available)
        return {
          name: kind.name,
          label: kind.label,
          summary: kind.summary,
          available,
          reason: available ? null : whyNone(kind, versions),
          install: available ? null : kind.install.debian,
          versions: versions.map((line) => viewOfLine(line, kind.install)),
          keepsData: kind.keepsData,
        }
      }
      const databases = databaseTypes.map((kind) => ({
        ...shared(kind),
        kind: 'database' as const,
        aliases: [...kind.aliases],
        alwaysPublished: false,
        hasCredentials: true,
        hasInbox: false,
        ports: [{ name: kind.name, port: kind.port, published: true }],
        injects: Object.keys(kind.variables(exampleConnection, '')),
        settingsSchema: jsonSchema(DatabaseSettings),
      }))
      const services = serviceTypes.map((kind) => ({
        ...shared(kind),
        kind: 'service' as const,
        aliases: [],
        alwaysPublished: kind.alwaysPublished,
        hasCredentials: kind.credentials !== undefined,
        hasInbox: kind.inboxPort !== undefined,
        ports: kind.ports.map(({ name, port, published }) => ({ name, port, published })),
        injects: [...kind.injects],
        settingsSchema: jsonSchema(kind.settings.patch),
      }))
      return { engine: of, items: [...databases, ...services] }
    },
    toolchains: async () => {
      await ready()
      return found
    },
    ourNode: () => {
      const bundled = found.find((toolchain) => toolchain.name === 'node' && toolchain.bundled && toolchain.available)
      return bundled?.program ?? fallbackNode
    },
  }
}

const DatabaseSettings = DatabasePatch.omit({ type: true, primary: true, hostPort: true }).partial()

/** For asking a kind which variables it gives; their values are not looked at. */
const exampleConnection: DatabaseConnection = {
  database: 'main',
  username: 'main',
  host: '127.0.0.1',
  port: 1,
  secret: () => '',
}

interface FullLine extends OfferedLine {
  readonly endOfLife: string | null
  readonly full: string | null
}

/** Lines of releases and of what was found, newest first. */
function mergeLines(kind: Liner, found: readonly Toolchain[]): readonly FullLine[] {
  const lines = new Map<string, FullLine>()
  for (const release of kind.releases) {
    lines.set(release.version, {
      ...release,
      available: false,
      default: false,
      reason: `${kind.label} ${release.version} is not installed on this machine.`,
      full: null,
    })
  }
  for (const toolchain of [...found].sort(
    (a, b) => Number(a.available) - Number(b.available) || compareVersions(a.version, b.version),
  )) {
    const version = kind.lineOf(toolchain.version)
    const before = lines.get(version)
    if (before?.available === true && !toolchain.available) continue
    lines.set(version, {
      version,
      endOfLife: before?.endOfLife ?? null,
      available: toolchain.available,
      default: false,
      reason: toolchain.reason,
      full: toolchain.version,
    })
  }
  return [...lines.values()].sort((a, b) => compareVersions(b.version, a.version))
}

/** One that was found and cannot be used says more than one that is not there. */
function whyNone(kind: Liner, lines: readonly FullLine[]): string {
  const found = lines.find((line) => line.full !== null && line.reason !== null)
  return found?.reason ?? `No ${kind.label} was found on this machine.`
}

/** The newest line that can be used here is the default. */
function withDefault(lines: readonly FullLine[]): readonly FullLine[] {
  const chosen = lines.find((line) => line.available)
  return lines.map((line) => (line === chosen ? { ...line, default: true } : line))
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

/** Every program that any kind may need, asked for once. */
function allQueries(): readonly ToolchainQuery[] {
  const byName = new Map<string, ToolchainQuery>()
  for (const kind of runtimeTypes)
    for (const query of [kind.toolchain, ...kind.helpers]) if (query !== null) byName.set(query.name, query)
  for (const kind of [...databaseTypes, ...serviceTypes])
    if (kind.toolchain !== null) byName.set(kind.toolchain.name, kind.toolchain)
  return [...byName.values()]
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

/** Number by number; what is not a number compares as text. */
export function compareVersions(a: string, b: string): number {
  const left = a.split(/[.-]/)
  const right = b.split(/[.-]/)
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const x = left[index] ?? '0'
    const y = right[index] ?? '0'
    const order = /^\d+$/.test(x) && /^\d+$/.test(y) ? Number(x) - Number(y) : x.localeCompare(y)
    if (order !== 0) return order
  }
  return 0
}
