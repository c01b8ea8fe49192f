import type { Job } from '@stackquay/engine-api'
import { dataPath } from '@stackquay/engine-api/workload'
import { readerName } from '../browse/reader-name.ts'
import type { DatabaseConnection, DatabaseInput, DatabaseType, WorkloadSpec } from '../entry-types.ts'
import { startScript } from './mysql-family-start-script.ts'

/*
 * What MariaDB and MySQL have in common: one protocol, one set of client programs, one way to be stopped. They differ in
 * how data is made and in some options; neither opens the other's data.
 */

/** A descriptor's fields that are the same in both. */
export const familyFields = {
  aliases: [],
  port: 3306,
  // Both count their release lines by two numbers: 10.11 and 11.4, 8.0 and 8.4.
  lineOf: (version: string) => version.split('.').slice(0, 2).join('.'),
  keepsData: true,
  secrets: [{ name: 'password', length: 32 }],
  variables: (connection: DatabaseConnection, prefix: string) => ({
    [`${prefix}DATABASE_URL`]: url(connection),
    [`${prefix}DATABASE_HOST`]: connection.host,
    [`${prefix}DATABASE_PORT`]: String(connection.port),
    [`${prefix}DATABASE_NAME`]: connection.database,
    [`${prefix}DATABASE_USER`]: connection.username,
    [`${prefix}DATABASE_PASSWORD`]: connection.secret('password'),
    ...(prefix === '' ? clientVariables(connection) : {}),
  }),
  credentials: (connection: DatabaseConnection) => ({
    host: connection.host,
    port: connection.port,
    hostPort: connection.port,
    database: connection.database,
    username: connection.username,
    password: connection.secret('password'),
    url: url(connection),
  }),
} as const

/** Databases that every server has, and its administrator, who would be the user of a database "root". */
export function nameBlocker(label: string, name: string): string | null {
  return /^(mysql|sys|information_schema|performance_schema|root)$/.test(name) || name === readerName
    ? `${label} keeps the name "${name}" for itself.`
    : null
}

export interface FamilyServer {
  readonly kind: Pick<DatabaseType, 'name' | 'label' | 'lineOf'>
  /** Makes the data directory, with the release line in the file `release` of it. */
  readonly init: Job
  /** What only this server understands. */
  readonly options: readonly string[]
}

/** The directory the server keeps everything in, inside of the kept data. */
export function serverPath(input: DatabaseInput): string {
  return `${dataPath(input.name)}/server`
}

export function familyWorkload(input: DatabaseInput, { kind, init, options }: FamilyServer): WorkloadSpec {
  const line = kind.lineOf(input.toolchain.version)
  return {
    name: input.name,
    title: `${kind.label} ${input.database}`,
    run: {
      kind: 'process',
      argv: [
        ...startScript(input, kind.label, line),
        input.toolchain.program,
        // First, or it is refused: nothing of the machine's own configuration reaches this server.
        '--no-defaults',
        `--datadir=${serverPath(input)}`,
        `--init-file=${dataPath(input.name)}/account.sql`,
        `--port=${input.listen.port}`,
        `--bind-address=${input.listen.address}`,
        // Empty: no socket file. Its path would have to be short, writable and unique, and every client here speaks TCP.
        '--socket=',
        '--pid-file=server.pid',
        // Accounts are told apart by address alone: "localhost" can never be reached over TCP, and names are not looked up.
        '--skip-name-resolve',
        '--character-set-server=utf8mb4',
        // A commit is on the disk when it is acknowledged, unless the data is throwaway.
        `--innodb-flush-log-at-trx-commit=${input.throwaway === true ? 0 : 1}`,
        // For replicas and point-in-time recovery, which one development database has not; with it MySQL asks for more
        // than all privileges on a database before it creates a trigger or a function.
        '--skip-log-bin',
        ...options,
      ],
      cwd: dataPath(input.name),
    },
    env: { ACCOUNT_PASSWORD: input.secret('password') },
    data: [{ name: input.name }],
    ports: [{ name: kind.name, port: input.listen.port, hostPort: input.hostPort, bind: input.bind }],
    setup: [init],
    requires: [],
    // It listens when recovery is over, and a client that connects before the account is set waits a moment and is served: no
    // client is ever refused. Its first words cannot be expected: they begin with their length, that of its version's name.
    health: { kind: 'tcp', port: kind.name, timeoutSeconds: 300 },
    restart: { kind: 'always' },
    // The ordinary shutdown: sessions end, changed pages are written. MariaDB (10.11) never ends when the signal comes before
    // it can serve; the deadline is short because the log alone gives back every commit to a server that was killed.
    stop: { signal: 'SIGTERM', deadlineSeconds: 20 },
    dependsOn: [],
  }
}

/** The scheme is the same for both: clients of MariaDB take this one, and few know another. */
function url(connection: DatabaseConnection) {
  const password = connection.secret('password', 'url')
  return [
    `mysql://${encodeURIComponent(connection.username)}:`,
    ...(typeof password === 'string' ? [password] : password),
    `@${connection.host}:${connection.port}/${encodeURIComponent(connection.database)}`,
  ]
}

/** What `mysql`, `mariadb` and their dump programs take by default. There is no such variable for user and database. */
function clientVariables(connection: DatabaseConnection) {
  return {
    MYSQL_HOST: connection.host,
    MYSQL_TCP_PORT: String(connection.port),
    MYSQL_PWD: connection.secret('password'),
  }
}
