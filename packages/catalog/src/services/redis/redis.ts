import { dataPath } from '@stackquay/engine-api/workload'
import type { ServiceInput, ServiceType, WorkloadSpec } from '../../entry-types.ts'
import { servicePort } from '../../service-ports.ts'
import { serviceSettings } from '../../service-settings.ts'
import { backup } from './backup-method.ts'
import { clientVariables, credentials, variables } from './connection.ts'
import { ExternalPatch, ExternalStored, ExternalView, externalOf } from './external.ts'
import { health, healthUser } from './health.ts'
import { startScript } from './start-script.ts'

const nature = { keepsData: true, alwaysPublished: false } as const

/** A server of the project's own, or the word of one elsewhere. Every key it has acknowledged survives a kill and a power cut. */
export const redis: ServiceType = {
  kind: 'service',
  name: 'redis',
  label: 'Redis',
  summary: 'Keys, lists, streams and queues in memory, kept on disk.',
  ports: [{ name: 'redis', port: 6379, published: true }],
  ...nature,
  forTests: 'own',
  settings: serviceSettings(
    nature,
    { external: ExternalStored },
    { external: null },
    {
      patch: { external: ExternalPatch.optional() },
      view: { external: ExternalView },
      secretFields: [['external', 'password']],
    },
  ),
  toolchain: {
    name: 'redis',
    programs: ['redis-server'],
    places: [
      '/opt/homebrew/opt/redis/bin/redis-server',
      '/opt/homebrew/opt/redis@*/bin/redis-server',
      '/usr/local/opt/redis/bin/redis-server',
      '/usr/local/opt/redis@*/bin/redis-server',
      '/opt/redis-stack/bin/redis-server',
    ],
    versionArgs: ['--version'],
    // From 6.2 on it can leave its process title alone. A `redis-server` that is Valkey calls itself so, and is not offered.
    versionPattern: '^Redis server v=(?!6\\.0\\.|[0-5]\\.)(\\d+(?:\\.\\d+)+)',
  },
  image: {
    reference: (line) => `redis:${line}`,
    program: () => '/usr/local/bin/redis-server',
    user: 'redis',
    data: () => '/data',
  },
  // Redis sets no dates in advance: a line ends when later ones push it out of its security policy.
  releases: [
    { version: '8.10', endOfLife: null },
    { version: '8.8', endOfLife: null },
    { version: '8.6', endOfLife: null },
    { version: '8.4', endOfLife: null },
    { version: '8.2', endOfLife: null },
    { version: '8.0', endOfLife: '2026-02-11' },
    { version: '7.4', endOfLife: null },
    { version: '7.2', endOfLife: null },
    { version: '7.0', endOfLife: '2024-07-29' },
  ],
  lineOf: (version) => version.split('.').slice(0, 2).join('.'),
  install: {
    debian: 'apt-get install -y redis-server',
    other: 'Install Redis 6.2 or later from redis.io.',
  },
  secrets: [{ name: 'password', length: 32 }],
  injects: ['REDIS_URL', 'REDIS_HOST', 'REDIS_PORT', 'REDIS_PASSWORD'],
  dataBlocker: (from, to) =>
    isLater(from, to)
      ? `Redis ${to} cannot read data that ${from} wrote: choose ${from} again, or a later version.`
      : null,
  runsHere: (settings) => externalOf(settings) === null,
  toWorkload,
  variables,
  clientVariables,
  credentials,
  backup,
  hasKeys: true,
}

function toWorkload(input: ServiceInput): WorkloadSpec {
  const { address, port } = input.listen('redis')
  return {
    name: redis.name,
    title: redis.label,
    run: {
      kind: 'process',
      argv: startScript(input.toolchain?.program ?? '', [
        `bind ${address}`,
        `port ${port}`,
        // Refuses all but loopback should the password ever be taken away at run time.
        'protected-mode yes',
        'daemonize no',
        // The title would be written over the environment, by which the engine knows its processes.
        'set-proc-title no',
        ...durability,
        healthUser(input.project),
      ]),
      cwd: dataPath(redis.name),
    },
    env: { PASSWORD: input.secret('password') },
    data: [{ name: redis.name }],
    ports: [servicePort(input, 'redis')],
    setup: [],
    requires: [],
    // A large file takes its time to load.
    health: health(input.project, 300),
    restart: { kind: 'always' },
    stop: { signal: 'SIGTERM', deadlineSeconds: 30 },
    dependsOn: [],
  }
}

/**
 * `always` writes and syncs before it answers, once for all commands that arrived together. The usual `everysec` keeps
 * acknowledged writes in memory for up to two seconds while an earlier sync is under way, and a kill loses them then.
 * Snapshots beside that would only cost memory: with an append-only file nothing is ever read from them.
 */
const durability = ['appendonly yes', 'appendfsync always', 'save ""']

function isLater(one: string, other: string): boolean {
  const [major = 0, minor = 0] = one.split('.').map(Number)
  const [otherMajor = 0, otherMinor = 0] = other.split('.').map(Number)
  return major > otherMajor || (major === otherMajor && minor > otherMinor)
}
