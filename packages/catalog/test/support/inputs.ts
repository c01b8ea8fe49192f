import type {
  ChosenToolchain,
  DatabaseInput,
  RuntimeInput,
  RuntimeKind,
  ServiceInput,
  ServiceKind,
  Settings,
  SourceFiles,
} from '@stackquay/catalog'
import { programFile } from '../../src/folders.ts'

export const toolchain: ChosenToolchain = { version: '26.10.0', program: '/tools/bin/program', directory: '/tools/bin' }

/** Settings as a new project has them, with some of them said otherwise. */
export function settingsOf(kind: RuntimeKind, said: Readonly<Record<string, unknown>> = {}): Settings {
  const preset = kind.presets.find(({ name }) => name === (said.preset ?? kind.presets[0]?.name))
  const version = kind.releases[0]?.version
  return kind.settings.stored.parse({ ...kind.settings.defaults(), version, port: preset?.port, ...said }) as Settings
}

export function runtimeInput(
  kind: RuntimeKind,
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
    hostPort: (workload, port) => ({ http: 20000, debug: 21000 })[port]! + workload.length,
    env: {},
    dependsOn: [],
    ourProgram: (name) => ({ node: '/our/node', file: programFile(name) }),
    healthCheck: null,
    ...over,
  }
}

export function packageJson(fields: Readonly<Record<string, unknown>>): SourceFiles {
  return { 'package.json': JSON.stringify(fields) }
}

export function databaseInput(over: Partial<DatabaseInput> = {}): DatabaseInput {
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
    hostPort: 25432,
    secret: (name, encode) => [{ secret: name, version: 1, ...(encode ? { encode } : {}) }],
    version: '18',
    toolchain: { version: '18.4', program: '/pg/bin/postgres', directory: '/pg/bin' },
    bind: '127.0.0.1',
    name: 'postgresql-main',
    ...over,
  }
}

/** What resolving gives a service. Ports are 30000 and upwards in the kind's order; secrets are named as they are. */
export function serviceInput(
  kind: ServiceKind,
  said: Readonly<Record<string, unknown>> = {},
  over: Partial<ServiceInput> = {},
): ServiceInput {
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
    hostPort: (port) => 30_000 + kind.ports.findIndex((candidate) => candidate.name === port),
    secret: (name, encode) => [{ secret: name, version: 1, ...(encode ? { encode } : {}) }],
    toolchain:
      kind.toolchain === null ? null : { version: '1.0.0', program: '/tools/bin/program', directory: '/tools/bin' },
    bind: () => '127.0.0.1',
    ourProgram: (name) => ({ node: process.execPath, file: programFile(name) }),
    ...over,
  }
}
