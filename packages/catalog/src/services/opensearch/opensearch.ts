import type { Value } from '@stackquay/engine-api'
import { dataPath } from '@stackquay/engine-api/workload'
import { z } from 'zod'
import type { ServiceConnection, ServiceInput, ServiceType, WorkloadSpec } from '../../entry-types.ts'
import { innerPorts, servicePort } from '../../service-ports.ts'
import { serviceSettings } from '../../service-settings.ts'
import { configJob } from './config-job.ts'

const nature = { keepsData: true, alwaysPublished: false } as const
const username = 'admin'

/**
 * OpenSearch itself knows no passwords. The plugin that teaches it them is not part of every installation, wants
 * certificates on every connection, and keeps users in an index that a new password would have to be written into. So it is
 * switched off where it is there, and a built-in auth proxy listens on the port that clients use: it asks for the password and
 * passes on what it is given.
 *
 * The server behind it listens on loopback alone, on a port that nobody is told. That is no lock: whoever may run programs
 * on this machine, as any user, can look for that port and needs no password there. What the auth proxy keeps out is everything
 * else: other machines when the port is published, and clients with no, a wrong or an old password.
 */
export const opensearch: ServiceType = {
  kind: 'service',
  name: 'opensearch',
  label: 'OpenSearch',
  summary: 'Search and analytics over documents, with the API that Elasticsearch 7 has.',
  ports: [
    { name: 'http', port: 9200, published: true },
    { name: 'server', port: 9201, published: false },
    { name: 'transport', port: 9300, published: false },
  ],
  ...nature,
  forTests: 'none',
  settings: serviceSettings(
    nature,
    { heap: z.int().min(256).max(65_536).describe('Memory for its heap, in megabytes. It uses about as much again.') },
    { heap: 512 },
  ),
  toolchain: {
    name: 'opensearch',
    programs: ['opensearch'],
    // Of the packages (`/usr/share/opensearch`) those from 2.13 on let only their own user read their configuration, which
    // their program does to say its version: they are found and said to be unusable. An unpacked archive has no such wall.
    places: [
      '/opt/opensearch*/bin/opensearch',
      '/usr/local/opensearch*/bin/opensearch',
      '/usr/local/share/opensearch*/bin/opensearch',
      '/usr/share/opensearch/bin/opensearch',
      '/opt/homebrew/opt/opensearch/bin/opensearch',
      '/usr/local/opt/opensearch/bin/opensearch',
    ],
    versionArgs: ['--version'],
    versionPattern: '^Version: (\\d+\\.\\d+\\.\\d+), Build: ',
  },
  image: {
    // Full versions alone are tagged, beside the majors.
    reference: (line) => `opensearchproject/opensearch:${newest[line] ?? `${line}.0`}`,
    program: () => '/usr/share/opensearch/bin/opensearch',
    user: 'opensearch',
    data: () => '/usr/share/opensearch/data',
  },
  // Of each major only the newest line is maintained, and the one before until the next major is there: no dates.
  releases: ['3.8', '3.7', '3.6', '3.5', '3.4', '3.3', '3.2', '3.1', '3.0', '2.19'].map((version) => ({
    version,
    endOfLife: null,
  })),
  lineOf: (version) => version.split('.').slice(0, 2).join('.'),
  install: {
    debian:
      'curl -L https://artifacts.opensearch.org/releases/core/opensearch/3.8.0/opensearch-min-3.8.0-linux-x64.tar.gz | tar -xz --no-same-owner -C /opt',
    other: 'Unpack OpenSearch with its Java from opensearch.org/downloads, for all users of the machine.',
  },
  secrets: [{ name: 'password', length: 32 }],
  injects: ['OPENSEARCH_URL', 'OPENSEARCH_HOST', 'OPENSEARCH_PORT', 'OPENSEARCH_USERNAME', 'OPENSEARCH_PASSWORD'],
  dataBlocker,
  toWorkload,
  variables: (connection) => ({
    OPENSEARCH_URL: url(connection),
    OPENSEARCH_HOST: connection.host,
    OPENSEARCH_PORT: String(connection.port('http')),
    OPENSEARCH_USERNAME: username,
    OPENSEARCH_PASSWORD: connection.secret('password'),
  }),
  credentials: (connection) => ({ username, password: connection.secret('password'), url: url(connection) }),
}

/** Of lines that got corrections. */
const newest: Readonly<Record<string, string>> = { '2.19': '2.19.4', '3.3': '3.3.2' }

function toWorkload(input: ServiceInput): WorkloadSpec {
  const { node, file } = input.ourProgram('search-auth-proxy')
  const data = dataPath(opensearch.name)
  const http = input.listen('http')
  const line = opensearch.lineOf(input.toolchain?.version ?? '')
  return {
    name: opensearch.name,
    title: opensearch.label,
    run: {
      kind: 'process',
      argv: [
        node,
        file,
        ...['--host', http.address, '--port', String(http.port), '--user', username],
        ...['--server-port', String(input.listen('server').port)],
        ...['--transport-port', String(input.listen('transport').port)],
        ...['--program', input.toolchain?.program ?? '', '--data', data],
      ],
      cwd: data,
    },
    env: { AUTH_PROXY_PASSWORD: input.secret('password') },
    data: [{ name: opensearch.name }],
    ports: [servicePort(input, 'http'), ...innerPorts(input, 'server', 'transport')],
    setup: [configJob(opensearch.name, line, Number(input.settings.heap))],
    requires: [],
    // The auth proxy says 503 until the server behind it has its indexes open, and to whoever brings no password 401 from then on.
    health: { kind: 'http', port: 'http', path: '/', status: [401, 401], timeoutSeconds: 600 },
    restart: { kind: 'always' },
    // Each write is in the log on disk before it is answered (`index.translog.durability: request`, the default).
    stop: { signal: 'SIGTERM', deadlineSeconds: 60 },
    dependsOn: [],
  }
}

function dataBlocker(from: string, to: string): string | null {
  const [written, opening] = [parts(from), parts(to)]
  if (opening.major < written.major || (opening.major === written.major && opening.minor < written.minor)) {
    return `OpenSearch ${to} cannot open data that ${from} wrote: choose ${from} again, or a later version.`
  }
  if (opening.major <= written.major + 1) return null
  return `OpenSearch ${to} opens data of ${opening.major - 1} at the earliest, and this is of ${from}: choose a version ${written.major + 1} first and index anew what is older, or delete the data.`
}

function parts(line: string): { readonly major: number; readonly minor: number } {
  const [major = 0, minor = 0] = line.split('.').map(Number)
  return { major, minor }
}

function url(connection: ServiceConnection): Value {
  const password = connection.secret('password', 'url')
  return [
    `http://${username}:`,
    ...(typeof password === 'string' ? [password] : password),
    `@${connection.host}:${connection.port('http')}`,
  ]
}
