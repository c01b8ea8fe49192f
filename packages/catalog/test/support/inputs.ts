import { dirname } from 'node:path'
import type {
  ChosenToolchain,
  DatabaseInput,
  DatabaseType,
  RuntimeInput,
  RuntimeType,
  ServiceInput,
  ServiceType,
  Settings,
  SourceFiles,
  TypeImage,
} from '@stackquay/catalog'
import { programFile } from '../../src/folders.ts'

export const toolchain: ChosenToolchain = { version: '26.10.0', program: '/tools/bin/program', directory: '/tools/bin' }

/** Settings as a new project has them, with some of them said otherwise. */
export function settingsOf(kind: RuntimeType, said: Readonly<Record<string, unknown>> = {}): Settings {
  const preset = kind.presets.find(({ name }) => name === (said.preset ?? kind.presets[0]?.name))
  const version = kind.releases[0]?.version
  return kind.settings.stored.parse({ ...kind.settings.defaults(), version, port: preset?.port, ...said }) as Settings
}

const hostPort: RuntimeInput['hostPort'] = (workload, port) => ({ http: 20000, debug: 21000 })[port]! + workload.length

/** What resolving gives a runtime on a machine. */
export function runtimeInput(
  kind: RuntimeType,
  said: Readonly<Record<string, unknown>> = {},
  over: Partial<RuntimeInput> = {},
): RuntimeInput {
  return {
    project: {
      id: 'prj_1',
      slug: 'shop',
      url: 'http://shop.localhost:8780',
      path: '/projects/shop',
      toolsPath: '/home/tools/prj_1',
    },
    settings: settingsOf(kind, said),
    toolchain,
    source: {},
    hostPort,
    listen: (workload, port) => ({ address: '127.0.0.1', port: (over.hostPort ?? hostPort)(workload, port) }),
    env: {},
    dependsOn: [],
    ourProgram: (name) => ({ node: '/our/node', file: programFile(name) }),
    healthCheck: null,
    ...over,
  }
}

/** The same in a container of the kind's image. */
export function containerRuntimeInput(
  kind: RuntimeType,
  said: Readonly<Record<string, unknown>> = {},
  over: Partial<RuntimeInput> = {},
): RuntimeInput {
  const { port, debugPort, devServer, version } = settingsOf(kind, said)
  return runtimeInput(kind, said, {
    toolchain: toolchainIn(kind.image, kind.lineOf(version)),
    ...(kind.image.helpers === undefined ? {} : { helpers: kind.image.helpers }),
    listen: (workload, name) => ({
      address: '0.0.0.0',
      port: name === 'debug' ? debugPort : workload.endsWith('-dev') ? (devServer as { port: number }).port : port,
    }),
    ourProgram: (name) => ({ node: kind.image.node ?? '/our/node', file: programFile(name) }),
    inContainer: true,
    ...over,
  })
}

function toolchainIn(image: TypeImage, line: string): ChosenToolchain {
  const program = image.program(line)
  return { version: line, program, directory: dirname(program) }
}

export function packageJson(fields: Readonly<Record<string, unknown>>): SourceFiles {
  return { 'package.json': JSON.stringify(fields) }
}

/** What resolving gives a database on a machine: it listens at the lease. */
export function databaseInput(over: Partial<DatabaseInput> = {}): DatabaseInput {
  const port = over.hostPort ?? 25432
  return {
    project: {
      id: 'prj_1',
      slug: 'shop',
      url: 'http://shop.localhost:8780',
      path: '/projects/shop',
      toolsPath: '/home/tools/prj_1',
    },
    database: 'main',
    username: 'shop',
    host: '127.0.0.1',
    port,
    hostPort: port,
    listen: { address: over.bind ?? '127.0.0.1', port },
    secret: (name, encode) => [{ secret: name, version: 1, ...(encode ? { encode } : {}) }],
    version: '18',
    toolchain: { version: '18.4', program: '/pg/bin/postgres', directory: '/pg/bin' },
    bind: '127.0.0.1',
    name: 'postgresql-main',
    ourProgram: (name) => ({ node: process.execPath, file: programFile(name) }),
    ...over,
  }
}

export function containerDatabaseInput(kind: DatabaseType, over: Partial<DatabaseInput> = {}): DatabaseInput {
  const version = kind.releases[0]!.version
  const name = `${kind.name}-main`
  return databaseInput({
    host: name,
    port: kind.port,
    version,
    toolchain: toolchainIn(kind.image, version),
    listen: { address: '0.0.0.0', port: kind.port },
    name,
    inContainer: true,
    ...over,
  })
}

/** What resolving gives a service on a machine: it listens at its leases. Ports are 30000 and upwards in the kind's order; secrets are named as they are. */
export function serviceInput(
  kind: ServiceType,
  said: Readonly<Record<string, unknown>> = {},
  over: Partial<ServiceInput> = {},
): ServiceInput {
  const hostPort =
    over.hostPort ?? ((port: string) => 30_000 + kind.ports.findIndex((candidate) => candidate.name === port))
  const bind = over.bind ?? (() => '127.0.0.1' as const)
  return {
    project: {
      id: 'prj_1',
      slug: 'shop',
      url: 'http://shop.localhost:8780',
      path: '/projects/shop',
      toolsPath: '/home/tools/prj_1',
    },
    settings: kind.settings.stored.parse({
      ...kind.settings.defaults(),
      version: kind.releases[0]?.version,
      ...said,
    }) as ServiceInput['settings'],
    host: '127.0.0.1',
    port: hostPort,
    hostPort,
    listen: (port) => ({ address: bind(port), port: hostPort(port) }),
    secret: (name, encode) => [{ secret: name, version: 1, ...(encode ? { encode } : {}) }],
    toolchain:
      kind.toolchain === null ? null : { version: '1.0.0', program: '/tools/bin/program', directory: '/tools/bin' },
    bind,
    ourProgram: (name) => ({ node: process.execPath, file: programFile(name) }),
    ...over,
  }
}

/** The same in a container of the kind's image: ports are the kind's own. */
export function containerServiceInput(
  kind: ServiceType,
  said: Readonly<Record<string, unknown>> = {},
  over: Partial<ServiceInput> = {},
): ServiceInput {
  const port = (name: string) => kind.ports.find((candidate) => candidate.name === name)!.port
  const version = kind.releases[0]!.version
  return serviceInput(kind, said, {
    host: kind.name,
    port,
    listen: (name) => ({ address: '0.0.0.0', port: port(name) }),
    toolchain: kind.toolchain === null ? null : toolchainIn(kind.image, version),
    ourProgram: (name) => ({ node: kind.image.node ?? '/our/node', file: programFile(name) }),
    inContainer: true,
    ...over,
  })
}
