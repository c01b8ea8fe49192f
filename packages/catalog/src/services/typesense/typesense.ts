import { dataPath } from '@stackquay/engine-api/workload'
import type { ServiceConnection, ServiceInput, ServiceType, WorkloadSpec } from '../../entry-types.ts'
import { innerAddress, innerPorts, servicePort } from '../../service-ports.ts'
import { serviceSettings } from '../../service-settings.ts'

const nature = { keepsData: true, alwaysPublished: false } as const

/**
 * The key given at the start is never stored: a new one is in force with the next start, and the one before is not. Keys
 * that were made through the API are stored, and go on.
 */
export const typesense: ServiceType = {
  kind: 'service',
  name: 'typesense',
  label: 'Typesense',
  summary: 'Full-text search in memory that forgives typing errors.',
  ports: [
    { name: 'http', port: 8108, published: true },
    { name: 'peering', port: 8107, published: false },
  ],
  ...nature,
  forTests: 'none',
  settings: serviceSettings(nature, {}),
  toolchain: {
    name: 'typesense',
    programs: ['typesense-server'],
    places: [
      '/opt/homebrew/opt/typesense-server@*/bin/typesense-server',
      '/usr/local/opt/typesense-server@*/bin/typesense-server',
      '/opt/typesense-server/typesense-server',
      '/opt/typesense/typesense-server',
    ],
    // It has no such option: whatever it is called with, without a data directory it says its version, and what is wrong.
    versionArgs: ['--version'],
    versionPattern: '^Typesense v?(\\d+(?:\\.\\d+)+)',
  },
  image: {
    // Full versions alone are tagged.
    reference: (line) => `typesense/typesense:${newest[line] ?? `${line}.0`}`,
    program: () => '/opt/typesense-server',
    user: null,
    data: () => '/data',
  },
  // Typesense announces no dates.
  releases: ['30', '29', '28', '27', '26'].map((version) => ({ version, endOfLife: null })),
  // Lines were `0.24`, `0.25`, and then 26: the first number alone has counted since.
  lineOf: (version) =>
    version
      .split('.')
      .slice(0, version.startsWith('0.') ? 2 : 1)
      .join('.'),
  install: {
    debian:
      'curl -O https://dl.typesense.org/releases/30.2/typesense-server-30.2-amd64.deb && apt-get install -y ./typesense-server-30.2-amd64.deb',
    other: 'Install Typesense Server from typesense.org/downloads.',
  },
  secrets: [{ name: 'apiKey', length: 32 }],
  injects: ['TYPESENSE_URL', 'TYPESENSE_HOST', 'TYPESENSE_PORT', 'TYPESENSE_PROTOCOL', 'TYPESENSE_API_KEY'],
  // What is kept are the documents and the log of writes; indexes are built from them at each start.
  dataBlocker: (from, to) =>
    lineNumber(to) < lineNumber(from)
      ? `Typesense ${to} is not made to read data that ${from} wrote: choose ${from} again, or a later version.`
      : null,
  toWorkload,
  variables: (connection) => ({
    TYPESENSE_URL: url(connection),
    TYPESENSE_HOST: connection.host,
    TYPESENSE_PORT: String(connection.port('http')),
    TYPESENSE_PROTOCOL: 'http',
    TYPESENSE_API_KEY: connection.secret('apiKey'),
  }),
  credentials: (connection) => ({ apiKey: connection.secret('apiKey'), url: url(connection) }),
}

const newest: Readonly<Record<string, string>> = {
  '30': '30.2',
  '29': '29.0',
  '28': '28.0',
  '27': '27.1',
  '26': '26.0',
}

function toWorkload(input: ServiceInput): WorkloadSpec {
  const http = input.listen('http')
  const peering = input.listen('peering')
  return {
    name: typesense.name,
    title: typesense.label,
    run: {
      kind: 'process',
      argv: [
        input.toolchain?.program ?? '',
        `--data-dir=${dataPath(typesense.name)}`,
        // Not in the environment: some versions read these addresses there into one another.
        `--api-address=${http.address}`,
        `--api-port=${http.port}`,
        // Also a server without peers listens for them. Unless told where, it takes the machine's first private address.
        `--peering-address=${innerAddress}`,
        `--peering-port=${peering.port}`,
      ],
      cwd: dataPath(typesense.name),
    },
    env: { TYPESENSE_API_KEY: input.secret('apiKey') },
    data: [{ name: typesense.name }],
    ports: [servicePort(input, 'http'), ...innerPorts(input, 'peering')],
    setup: [],
    requires: [],
    // Answered without a key, with 503 until the log has been read and the indexes are built, which takes its time.
    health: { kind: 'http', port: 'http', path: '/health', status: [200, 200], timeoutSeconds: 300 },
    restart: { kind: 'always' },
    // A write is answered when it is in the log on disk, so that a kill loses none; a stop closes the database besides.
    stop: { signal: 'SIGTERM', deadlineSeconds: 60 },
    dependsOn: [],
  }
}

/** 0.25 came before 26. */
function lineNumber(line: string): number {
  return line.startsWith('0.') ? Number(line.slice(2)) : Number(line)
}

function url(connection: ServiceConnection): string {
  return `http://${connection.host}:${connection.port('http')}`
}
