import type { DatabaseInput, DatabaseType } from '../../entry-types.ts'
import { familyFields, familyWorkload, nameBlocker } from '../mysql-family.ts'
import { familyBackup } from '../mysql-family-backup.ts'
import { familyDump } from '../mysql-family-dump.ts'
import { familyUpgrade } from '../mysql-family-upgrade.ts'
import { basedirOf, initJob } from './init-job.ts'

/** One server process and one data directory for each database entry; its user has all rights on its own database alone. */
export const mariadb: DatabaseType = {
  ...familyFields,
  kind: 'database',
  name: 'mariadb',
  label: 'MariaDB',
  summary: 'Relational database of the MySQL family, with its protocol and clients.',
  toolchain: {
    name: 'mariadb',
    programs: ['mariadbd', 'mysqld'],
    places: [
      '/usr/sbin/mariadbd',
      '/usr/libexec/mariadbd',
      '/usr/local/mariadb*/bin/mariadbd',
      '/usr/local/mysql/bin/mariadbd',
      '/opt/mariadb*/bin/mariadbd',
      '/opt/homebrew/opt/mariadb*/bin/mariadbd',
      '/usr/local/opt/mariadb*/bin/mariadbd',
    ],
    versionArgs: ['--no-defaults', '--version'],
    // MySQL's server is called mysqld too; only the version itself says whose it is.
    versionPattern: '\\bVer (\\d+(?:\\.\\d+)+)-MariaDB\\b',
  },
  image: {
    reference: (line) => `mariadb:${line}`,
    program: () => '/usr/sbin/mariadbd',
    user: 'mysql',
    data: () => '/var/lib/mysql',
  },
  releases: [
    { version: '11.8', endOfLife: '2028-06-04' },
    { version: '11.4', endOfLife: '2029-05-29' },
    { version: '10.11', endOfLife: '2028-02-16' },
  ],
  install: {
    debian: 'apt-get install -y mariadb-server',
    other: 'Install MariaDB Server from mariadb.org/download.',
  },
  nameBlocker: (name) => nameBlocker(mariadb.label, name),
  toWorkload,
  // Seconds.
  backup: familyBackup('SET SESSION max_statement_time = 600'),
  dump: familyDump('mariadb-client'),
  upgrade: familyUpgrade({
    // Nobody else reaches it, and its administrator cannot log in.
    options: (input) => [`--basedir=${basedirOf(input)}`, '--loose-feedback=OFF', '--skip-grant-tables'],
    program: 'mariadb-upgrade',
    package: 'mariadb-server',
  }),
}

function toWorkload(input: DatabaseInput) {
  return familyWorkload(input, {
    kind: mariadb,
    init: initJob(input, mariadb.lineOf(input.toolchain.version)),
    options: [
      // Where it finds its messages and plugins; it does not look beside its own program.
      `--basedir=${basedirOf(input)}`,
      // Reports usage to its makers when a configuration turns it on. Builds without it take no offence.
      '--loose-feedback=OFF',
    ],
  })
}
