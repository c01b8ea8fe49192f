import type { DatabaseInput, DatabaseType } from '../../entry-types.ts'
import { familyFields, familyWorkload, nameBlocker } from '../mysql-family.ts'
import { familyBackup } from '../mysql-family-backup.ts'
import { familyDump } from '../mysql-family-dump.ts'
import { familyUpgrade } from '../mysql-family-upgrade.ts'
import { initJob } from './init-job.ts'
import { ownOptions } from './own-options.ts'

/** One server process and one data directory for each database entry; its user has all rights on its own database alone. */
export const mysql: DatabaseType = {
  ...familyFields,
  kind: 'database',
  name: 'mysql',
  label: 'MySQL',
  summary: 'Relational database with transactions, JSON and replication.',
  toolchain: {
    name: 'mysql',
    programs: ['mysqld'],
    places: [
      '/usr/sbin/mysqld',
      '/usr/libexec/mysqld',
      '/usr/local/mysql*/bin/mysqld',
      '/opt/mysql*/bin/mysqld',
      '/opt/homebrew/opt/mysql*/bin/mysqld',
      '/usr/local/opt/mysql*/bin/mysqld',
    ],
    versionArgs: ['--no-defaults', '--version'],
    // MariaDB's server answers to the name mysqld as well, and says who it is in its version.
    versionPattern: '\\bmysqld +Ver (\\d+(?:\\.\\d+)+)(?!\\S*MariaDB)',
  },
  image: {
    reference: (line) => `mysql:${line}`,
    program: () => '/usr/sbin/mysqld',
    user: 'mysql',
    data: () => '/var/lib/mysql',
  },
  releases: [
    { version: '8.4', endOfLife: '2032-04-30' },
    { version: '8.0', endOfLife: '2026-04-30' },
  ],
  install: {
    debian: 'apt-get install -y mysql-server',
    other: 'Install MySQL Community Server from dev.mysql.com/downloads/mysql.',
  },
  nameBlocker: (name) => nameBlocker(mysql.label, name),
  toWorkload,
  // Milliseconds, of statements that select.
  backup: familyBackup('SET SESSION max_execution_time = 600000'),
  dump: familyDump('mysql-client'),
  // The server itself brings everything to its version when it starts.
  upgrade: familyUpgrade({ options: () => ownOptions, package: 'mysql-server' }),
}

function toWorkload(input: DatabaseInput) {
  return familyWorkload(input, {
    kind: mysql,
    init: initJob(input, mysql.lineOf(input.toolchain.version)),
    options: ownOptions,
  })
}
