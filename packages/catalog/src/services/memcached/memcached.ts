import type { ServiceInput, ServiceType, WorkloadSpec } from '../../entry-types.ts'
import { servicePort } from '../../service-ports.ts'
import { serviceSettings } from '../../service-settings.ts'

const nature = { keepsData: false, alwaysPublished: false } as const

/** A cache that forgets everything when it stops. It has no passwords: whoever reaches the port may read and write. */
export const memcached: ServiceType = {
  kind: 'service',
  name: 'memcached',
  label: 'Memcached',
  summary: 'A cache in memory that forgets when it stops.',
  ports: [{ name: 'memcached', port: 11211, published: true }],
  ...nature,
  forTests: 'own',
  settings: serviceSettings(nature, {}),
  toolchain: {
    name: 'memcached',
    programs: ['memcached'],
    places: ['/opt/homebrew/opt/memcached/bin/memcached', '/usr/local/opt/memcached/bin/memcached'],
    versionArgs: ['-V'],
    versionPattern: '^memcached (\\d+(?:\\.\\d+)+)',
  },
  image: {
    reference: (line) => `memcached:${line}`,
    program: () => '/usr/local/bin/memcached',
    user: 'memcache',
  },
  // The one line that is maintained, since 2020; its end has not been announced.
  releases: [{ version: '1.6', endOfLife: null }],
  lineOf: (version) => version.split('.').slice(0, 2).join('.'),
  install: {
    debian: 'apt-get install -y memcached',
    other: 'Install Memcached from memcached.org.',
  },
  secrets: [],
  injects: ['MEMCACHED_URL', 'MEMCACHED_HOST', 'MEMCACHED_PORT'],
  dataBlocker: () => null,
  toWorkload,
  variables: (connection) => ({
    MEMCACHED_URL: `memcached://${connection.host}:${connection.port('memcached')}`,
    MEMCACHED_HOST: connection.host,
    MEMCACHED_PORT: String(connection.port('memcached')),
  }),
}

function toWorkload(input: ServiceInput): WorkloadSpec {
  const { address, port } = input.listen('memcached')
  return {
    name: memcached.name,
    title: memcached.label,
    run: {
      kind: 'process',
      argv: [
        input.toolchain?.program ?? '',
        '-l',
        address,
        '-p',
        String(port),
        // No UDP: anybody could have it send large answers to somebody else.
        '-U',
        '0',
        '-m',
        String(megabytes),
      ],
      // It has no files.
      cwd: '/',
    },
    env: {},
    data: [],
    ports: [servicePort(input, 'memcached')],
    setup: [],
    requires: [],
    health: {
      kind: 'tcp',
      port: 'memcached',
      timeoutSeconds: 120,
      greeting: { send: btoa('version\r\n'), expect: btoa('VERSION ') },
    },
    restart: { kind: 'always' },
    stop: { signal: 'SIGTERM', deadlineSeconds: 20 },
    dependsOn: [],
  }
}

/** When it is full it forgets what was not asked for the longest. */
const megabytes = 64
