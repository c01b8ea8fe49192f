import { dataPath } from '@stackquay/engine-api/workload'
import type { ServiceConnection, ServiceInput, ServiceType, WorkloadSpec } from '../entry-types.ts'
import { searchPath } from '../server-workload.ts'
import { servicePort } from '../service-ports.ts'
import { serviceSettings } from '../service-settings.ts'
import { SettingsError } from '../settings-error.ts'
import type { AddonDefinition } from './addon.ts'
import { databasesIn, type Fillings, filled } from './placeholders.ts'

/** The key of a project's body that holds the settings of addons. */
export const addonsKey = 'addons'

const made = new WeakMap<AddonDefinition, ServiceType>()

/** The service type that a file describes: the same descriptor as that of a built-in one. */
export function addonType(addon: AddonDefinition): ServiceType {
  const known = made.get(addon)
  if (known !== undefined) return known
  const type = describe(addon)
  made.set(addon, type)
  return type
}

function describe(addon: AddonDefinition): ServiceType {
  const { name, title, description, versions, native, volumes = [], injects = {}, credentials = [] } = addon
  const nature = { keepsData: volumes.length > 0, alwaysPublished: false }
  const hasImages = versions.every(({ image }) => image !== undefined)
  const install = installOf(addon)
  return {
    kind: 'service',
    under: addonsKey,
    name,
    label: title,
    summary: description,
    ports: addon.ports.map((port) => ({
      name: port.name,
      port: port.port,
      published: port.published !== false,
      ...(port.page === true ? { page: true as const } : {}),
    })),
    ...nature,
    forTests: 'own',
    settings: serviceSettings(nature, {}),
    toolchain:
      native === undefined
        ? null
        : {
            name: `addon-${name}`,
            programs: native.programs,
            places: [],
            versionArgs: native.versionArgs ?? ['--version'],
            versionPattern: '(\\d+(?:\\.\\d+)*)',
          },
    ...(hasImages && native !== undefined ? {} : { needs: hasImages ? ('images' as const) : ('programs' as const) }),
    image: {
      reference: (line) => (versions.find(({ version }) => version === line) ?? versions[0])?.image ?? '',
      program: () => addon.command?.[0] ?? '',
      user: addon.user ?? null,
      ...(volumes[0] === undefined ? {} : { data: constant(volumes[0].path) }),
    },
    releases: versions.map(({ version, endOfLife = null, default: isDefault }) => ({
      version,
      endOfLife,
      ...(isDefault === true ? { default: true as const } : {}),
    })),
    lineOf: (version) =>
      versions
        .map((one) => one.version)
        .filter((line) => version === line || version.startsWith(`${line}.`))
        .sort((one, other) => other.length - one.length)[0] ?? version,
    install,
    secrets: (addon.secrets ?? []).map((secret) => ({ name: secret, length: 32 })),
    injects: Object.keys(injects),
    // Nobody knows whether an older program can read what a newer one wrote.
    dataBlocker: (from, to) => {
      const lines = versions.map(({ version }) => version)
      const [wrote, opens] = [lines.indexOf(from), lines.indexOf(to)]
      return wrote >= 0 && opens > wrote
        ? `${title} ${to} may not read data that ${from} wrote: choose ${from} again, or a later version.`
        : null
    },
    toWorkload: (input) => workloadOf(addon, input),
    variables: (connection) => filledRecord(injects, outside(connection)),
    ...(credentials.length === 0
      ? {}
      : {
          credentials: (connection: ServiceConnection) =>
            filledRecord(
              Object.fromEntries(credentials.map(({ label, value }) => [label, value])),
              outside(connection),
            ),
        }),
    ...(addon.mounts === undefined ? {} : { seesSource: true as const }),
    ...(addon.memoryMinimum === undefined ? {} : { memoryMinimum: bytesOf(addon.memoryMinimum) }),
  }
}

function installOf({ native, title, homepage }: AddonDefinition): ServiceType['install'] {
  if (native === undefined)
    return {
      debian: 'run the project in containers',
      other: 'Create the project in containers.',
    }
  const where = homepage === undefined ? '' : ` See ${homepage}.`
  return { debian: `put ${native.programs.join(' or ')} into PATH`, other: `Install ${title}.${where}` }
}

function workloadOf(addon: AddonDefinition, input: ServiceInput): WorkloadSpec {
  const { name, title, ports, health = { tcp: ports[0]!.name }, startSeconds: timeoutSeconds = 120 } = addon
  const keepsData = (addon.volumes ?? []).length > 0
  const inside = insideOf(addon, input)
  const [program = '', ...words] =
    input.inContainer === true ? (addon.command ?? []) : [input.toolchain?.program ?? '', ...(addon.native?.argv ?? [])]
  const cwd = addon.mounts !== undefined ? input.project.path : keepsData ? dataPath(name) : '/'
  const env = filledRecord(addon.env ?? {}, inside)
  return {
    name,
    title,
    run: { kind: 'process', argv: [program, ...words.map((text) => String(filled(text, inside)))], cwd },
    // In a container the image's own PATH holds.
    env: input.inContainer === true ? env : { PATH: searchPath([input.toolchain?.directory ?? '/usr/bin']), ...env },
    data: keepsData ? [{ name }] : [],
    ports: ports.map((port) => servicePort(input, port.name)),
    setup: [],
    requires: [],
    health:
      'tcp' in health
        ? { kind: 'tcp', port: health.tcp, timeoutSeconds }
        : { kind: 'http', port: health.http.port, path: health.http.path, status: [200, 399], timeoutSeconds },
    restart: { kind: 'always' },
    stop: { signal: 'SIGTERM', deadlineSeconds: 30 },
    dependsOn: waitsFor(addon, input),
  }
}

/** Workloads that must be ready first: those it names, and the databases whose address it is given. */
function waitsFor(addon: AddonDefinition, input: ServiceInput): readonly string[] {
  const services = (addon.dependsOn ?? []).map((name) => {
    const workload = input.beside?.workload(name) ?? null
    if (workload === null)
      throw new SettingsError(
        'enabled',
        `${addon.title} needs "${name}", which the project does not have enabled.`,
        `Enable "${name}", or switch ${addon.title} off.`,
      )
    return workload
  })
  const databases = Object.values(addon.env ?? {})
    .flatMap(databasesIn)
    .map((name) => databaseOf(addon, name, input).workload)
  return [...new Set([...services, ...databases])]
}

function databaseOf(addon: AddonDefinition, name: string, input: ServiceInput) {
  const database = input.beside?.database(name) ?? null
  if (database !== null) return database
  throw new SettingsError(
    'enabled',
    `${addon.title} needs a database "${name}", and the project has none.`,
    `Add a database "${name}", or switch ${addon.title} off.`,
  )
}

function insideOf(addon: AddonDefinition, input: ServiceInput): Fillings {
  const first = addon.ports[0]!.name
  return {
    ...common(input),
    host: input.listen(first).address,
    data: dataPath(addon.name),
    source: input.project.path,
    port: (name) => input.listen(name).port,
    database: (name) => databaseOf(addon, name, input).url,
  }
}

function outside(connection: ServiceConnection): Fillings {
  return {
    ...common(connection),
    host: connection.host,
    data: '',
    source: '',
    port: connection.port,
    database: () => '',
  }
}

function common({ project, secret }: ServiceConnection): Pick<Fillings, 'slug' | 'url' | 'secret'> {
  return { slug: project.slug, url: project.url, secret }
}

function filledRecord(texts: Readonly<Record<string, string>>, fillings: Fillings) {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, filled(text, fillings)]))
}

function bytesOf(amount: string): number {
  return Number.parseInt(amount, 10) * (amount.endsWith('GiB') ? 1024 ** 3 : 1024 ** 2)
}

function constant(path: string): () => string {
  return () => path
}
