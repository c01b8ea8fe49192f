import { dataPath } from '@stackquay/engine-api/workload'
import { readerName } from '../../browse/reader-name.ts'
import type { DatabaseConnection, DatabaseInput, DatabaseType, WorkloadSpec } from '../../entry-types.ts'
import { backup } from './backup-method.ts'
import { dump } from './dump/dump-method.ts'
import { initJob } from './init-job.ts'
import { passwordJob } from './password-job.ts'
import { archiveOptions, archiveVariables } from './point-in-time/archive-command.ts'
import { pointInTime } from './point-in-time/point-in-time-method.ts'
import { startScript } from './start-script.ts'
import { upgrade } from './upgrade/upgrade-method.ts'

/**
 * One server process and one cluster for each database entry: a project never shares a server, so it can be stopped,
 * copied and deleted alone. The project's user owns its cluster and may create extensions in it.
 */
export const postgresql: DatabaseType = {
  kind: 'database',
  name: 'postgresql',
  aliases: ['postgres'],
  label: 'PostgreSQL',
  summary: 'Relational database with transactions, JSON and full-text search.',
  port: 5432,
  toolchain: {
    name: 'postgresql',
    programs: ['postgres'],
    places: [
      '/usr/lib/postgresql/*/bin/postgres',
      '/usr/pgsql-*/bin/postgres',
      '/usr/local/pgsql/bin/postgres',
      '/opt/homebrew/opt/postgresql@*/bin/postgres',
      '/usr/local/opt/postgresql@*/bin/postgres',
      '/Applications/Postgres.app/Contents/Versions/*/bin/postgres',
    ],
    versionArgs: ['--version'],
    versionPattern: '^postgres \\(PostgreSQL\\) (\\d+(?:\\.\\d+)*)',
  },
  image: {
    reference: (line) => `postgres:${line}-bookworm`,
    program: (line) => `/usr/lib/postgresql/${line}/bin/postgres`,
    user: 'postgres',
    // From 18 on the volume is the folder above, with one folder for each version below it.
    data: (line) => (Number.parseInt(line, 10) >= 18 ? '/var/lib/postgresql' : '/var/lib/postgresql/data'),
  },
  releases: [
    { version: '18', endOfLife: '2030-11-14' },
    { version: '17', endOfLife: '2029-11-08' },
    { version: '16', endOfLife: '2028-11-09' },
    { version: '15', endOfLife: '2027-11-11' },
  ],
  lineOf: (version) => version.split('.')[0] ?? version,
  install: {
    debian: 'apt-get install -y postgresql',
    other: 'Install PostgreSQL from postgresql.org/download.',
  },
  keepsData: true,
  nameBlocker: (name) =>
    /^(template0|template1)$|^pg_/.test(name) || name === readerName
      ? `PostgreSQL keeps the name "${name}" for itself.`
      : null,
  secrets: [{ name: 'password', length: 32 }],
  toWorkload,
  variables: (connection, prefix) => ({
    [`${prefix}DATABASE_URL`]: url(connection),
    [`${prefix}DATABASE_HOST`]: connection.host,
    [`${prefix}DATABASE_PORT`]: String(connection.port),
    [`${prefix}DATABASE_NAME`]: connection.database,
    [`${prefix}DATABASE_USER`]: connection.username,
    [`${prefix}DATABASE_PASSWORD`]: connection.secret('password'),
    ...(prefix === '' ? libpqVariables(connection) : {}),
  }),
  credentials: (connection) => ({
    host: connection.host,
    port: connection.port,
    hostPort: connection.port,
    database: connection.database,
    username: connection.username,
    password: connection.secret('password'),
    url: url(connection),
  }),
  backup,
  dump,
  upgrade,
  pointInTime,
}

function toWorkload(input: DatabaseInput): WorkloadSpec {
  const cluster = `${dataPath(input.name)}/cluster`
  const { archive } = input
  return {
    name: input.name,
    title: `PostgreSQL ${input.database}`,
    run: {
      kind: 'process',
      argv: [
        ...startScript(cluster, postgresql.lineOf(input.toolchain.version)),
        input.toolchain.program,
        '-D',
        cluster,
        '-p',
        String(input.listen.port),
        '-c',
        `listen_addresses=${input.listen.address}`,
        // No socket file: its path would have to be short, writable and unique, and every client here speaks TCP.
        '-c',
        'unix_socket_directories=',
        '-c',
        `cluster_name=${input.project.slug}`,
        ...(input.throwaway === true ? quickOptions : []),
        ...(archive === undefined ? [] : archiveOptions),
      ],
      cwd: dataPath(input.name),
    },
    env: archive === undefined ? serverEnv : { ...serverEnv, ...archiveVariables(archive) },
    data: [input.name, ...(archive === undefined ? [] : [archive])].map((name) => ({ name })),
    ports: [
      {
        name: 'postgresql',
        port: input.listen.port,
        hostPort: input.hostPort,
        bind: input.bind,
      },
    ],
    setup: [initJob(input, cluster), passwordJob(input, cluster)],
    requires: [],
    health: { kind: 'tcp', port: 'postgresql', timeoutSeconds: 300, greeting: greeting(input) },
    restart: { kind: 'always' },
    // SIGINT is the fast shutdown: sessions end, a checkpoint is written. SIGTERM would wait for idle clients for ever.
    // SIGQUIT writes nothing: its data is deleted next.
    stop:
      input.throwaway === true ? { signal: 'SIGQUIT', deadlineSeconds: 5 } : { signal: 'SIGINT', deadlineSeconds: 30 },
    dependsOn: [],
  }
}

/**
 * PostgreSQL accepts connections while it still recovers from a crash, and refuses each with an error. Asked to begin a
 * session, it answers with an authentication request (`R`) only when it can serve.
 */
function greeting({ username, database }: DatabaseConnection) {
  const words = `user\0${username}\0database\0${database}\0\0`
  const length = 8 + words.length
  const head = [length >>> 24, length >>> 16, length >>> 8, length, 0, 3, 0, 0]
    .map((byte) => String.fromCharCode(byte & 255))
    .join('')
  return { send: btoa(head + words), expect: btoa('R') }
}

/** Nothing waits for the disk. */
const quickOptions = ['fsync', 'synchronous_commit', 'full_page_writes'].flatMap((name) => ['-c', `${name}=off`])

/** Messages that every client and the log can read, whatever language the machine speaks. */
const serverEnv = { LC_ALL: 'C', LC_MESSAGES: 'C' }

function url(connection: DatabaseConnection) {
  const password = connection.secret('password', 'url')
  return [
    `postgresql://${encodeURIComponent(connection.username)}:`,
    ...(typeof password === 'string' ? [password] : password),
    `@${connection.host}:${connection.port}/${encodeURIComponent(connection.database)}`,
  ]
}

/** Defaults of `psql`, `pg_dump` and every libpq client. */
function libpqVariables(connection: DatabaseConnection) {
  return {
    PGHOST: connection.host,
    PGPORT: String(connection.port),
    PGDATABASE: connection.database,
    PGUSER: connection.username,
    PGPASSWORD: connection.secret('password'),
  }
}
