import { dataPath } from '@stackquay/engine-api/workload'
import type { ServiceConnection, ServiceInput, ServiceType, WorkloadSpec } from '../../entry-types.ts'
import { servicePort } from '../../service-ports.ts'
import { serviceSettings } from '../../service-settings.ts'

const nature = { keepsData: true, alwaysPublished: true } as const

/**
 * Runtimes receive the master key. Keys that are made with it (for a page that searches, say) are derived from it: a new
 * master key makes all of them invalid at once, and no document is touched.
 */
export const meilisearch: ServiceType = {
  kind: 'service',
  name: 'meilisearch',
  label: 'Meilisearch',
  summary: 'Full-text search that answers while one types.',
  ports: [{ name: 'http', port: 7700, published: true }],
  ...nature,
  forTests: 'none',
  settings: serviceSettings(nature, {}),
  toolchain: {
    name: 'meilisearch',
    programs: ['meilisearch'],
    places: [
      '/opt/homebrew/opt/meilisearch/bin/meilisearch',
      '/usr/local/opt/meilisearch/bin/meilisearch',
      '/opt/meilisearch/meilisearch',
    ],
    versionArgs: ['--version'],
    versionPattern: '^meilisearch (\\d+\\.\\d+\\.\\d+)',
  },
  image: {
    reference: (line) => `getmeili/meilisearch:v${line}`,
    program: () => '/bin/meilisearch',
    user: null,
    data: () => '/meili_data',
  },
  // A line is maintained until the next one comes, a few weeks later; no dates are announced.
  releases: ['1.56', '1.55', '1.54', '1.53', '1.52', '1.51', '1.50', '1.49', '1.48', '1.47'].map((version) => ({
    version,
    endOfLife: null,
  })),
  lineOf: (version) => version.split('.').slice(0, 2).join('.'),
  install: {
    debian: 'curl -L https://install.meilisearch.com | sh && install -m 755 meilisearch /usr/local/bin/',
    other: 'Install Meilisearch from meilisearch.com/docs, for all users of the machine.',
  },
  secrets: [{ name: 'apiKey', length: 32 }],
  injects: ['MEILISEARCH_HOST', 'MEILISEARCH_API_KEY'],
  dataBlocker,
  toWorkload,
  variables: (connection) => ({
    MEILISEARCH_HOST: url(connection),
    MEILISEARCH_API_KEY: connection.secret('apiKey'),
  }),
  credentials: (connection) => ({ apiKey: connection.secret('apiKey'), url: url(connection) }),
}

function toWorkload(input: ServiceInput): WorkloadSpec {
  const { address, port } = input.listen('http')
  const data = dataPath(meilisearch.name)
  return {
    name: meilisearch.name,
    title: meilisearch.label,
    // Everything is said in the environment: it beats the file `config.toml`, and the key must not stand in argv.
    run: { kind: 'process', argv: [input.toolchain?.program ?? ''], cwd: data },
    env: {
      MEILI_MASTER_KEY: input.secret('apiKey'),
      MEILI_HTTP_ADDR: `${address}:${port}`,
      // `production` would differ in two things: it insists on a key, which there is, and it hides the page for trying out searches.
      MEILI_ENV: 'development',
      MEILI_DB_PATH: `${data}/data.ms`,
      MEILI_DUMP_DIR: `${data}/dumps`,
      MEILI_SNAPSHOT_DIR: `${data}/snapshots`,
      MEILI_NO_ANALYTICS: 'true',
      ...upgrade,
    },
    data: [{ name: meilisearch.name }],
    ports: [servicePort(input, 'http')],
    setup: [],
    requires: [],
    // The one path that is answered without a key. It listens only when its database is open, and brought to its version.
    health: { kind: 'http', port: 'http', path: '/health', status: [200, 200], timeoutSeconds: 300 },
    restart: { kind: 'always' },
    // A task that is under way is not waited for: what was acknowledged is in the queue on disk, and it begins anew.
    stop: { signal: 'SIGTERM', deadlineSeconds: 30 },
    dependsOn: [],
  }
}

/**
 * From 1.13 on it brings data of 1.12 and later to its own version, but only when told to: otherwise even the next patch
 * release, which the machine's package manager may install any day, refuses to start. The switch got its present name in
 * 1.51. Variables that a version does not know are ignored; as options they would be refused.
 */
const upgrade = { MEILI_UPGRADE_DB: 'true', MEILI_EXPERIMENTAL_DUMPLESS_UPGRADE: 'true' }

function dataBlocker(from: string, to: string): string | null {
  const [written, opening] = [minorOf(from), minorOf(to)]
  if (written === opening) return null
  if (opening < written) {
    return `Meilisearch ${to} cannot open data that ${from} wrote: choose ${from} again, or a later version.`
  }
  if (written >= minorOf('1.12')) return null
  return `Meilisearch ${to} can only open data of 1.12 and later, and this is of ${from}: choose ${from} again, or delete the data and index your documents anew.`
}

function minorOf(line: string): number {
  const [major = 0, minor = 0] = line.split('.').map(Number)
  return major * 10_000 + minor
}

function url(connection: ServiceConnection): string {
  return `http://${connection.host}:${connection.port('http')}`
}
