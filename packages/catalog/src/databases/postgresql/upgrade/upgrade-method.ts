import { dataPath } from '@stackquay/engine-api/workload'
import type { DumpProgram } from '../../../dump-method.ts'
import type { DatabaseInput } from '../../../entry-types.ts'
import type { UpgradeMethod, UpgradePair } from '../../../upgrade-method.ts'
import { clientsOf } from '../dump/dump-method.ts'
import { localeOptions } from '../init-job.ts'
import { compare } from './compare.ts'
import { countSql, lookSql, rolesSql } from './look-sql.ts'
import {
  checkScript,
  countScript,
  finishScript,
  lookScript,
  readDatabaseScript,
  readSettingsScript,
  swapScript,
  undoScript,
  writeDatabaseScript,
  writeSettingsScript,
} from './scripts.ts'

/**
 * By dump and restore, database by database, from a server that nobody else reaches into one that nobody else reaches: a stream between two
 * programs, so that there is no file in between, and each line needs only its own programs.
 */
export const upgrade: UpgradeMethod<DatabaseInput> = {
  manner: 'anew',
  // What pg_dump of every line since reads, and pg_restore of every line since makes.
  blocker: () => null,
  installClients: clientsOf,
  check: (pair) => program(pair, 'next', 'check', checkScript),
  look: (pair) => program(pair, 'old', 'look', lookScript, lookSql),
  transfers: (pair, names) => [
    {
      title: 'Carry roles and settings over',
      read: program(pair, 'old', 'read', readSettingsScript),
      write: program(pair, 'next', 'write', writeSettingsScript, ...localeOptions(pair.next.toolchain.version)),
    },
    ...names.map((name) => ({
      title: `Carry the database "${name}" over`,
      read: program(pair, 'old', 'read', readDatabaseScript, escaped(name)),
      write: program(pair, 'next', 'write', writeDatabaseScript, escaped(name)),
    })),
  ],
  count: (pair) => ({
    before: program(pair, 'old', 'count', countScript, clusterOf(pair.old), rolesSql, countSql),
    after: program(pair, 'next', 'count', countScript, `${clusterOf(pair.next)}.new`, rolesSql, countSql),
  }),
  compare,
  swap: (pair) => program(pair, 'next', 'swap', swapScript),
  undo: (pair) => program(pair, 'old', 'undo', undoScript),
  finish: (pair) => program(pair, 'next', 'finish', finishScript),
}

function program(
  pair: UpgradePair<DatabaseInput>,
  side: 'old' | 'next',
  act: string,
  script: string,
  ...words: readonly string[]
): DumpProgram {
  const input = pair[side]
  const lines = [pair.old, pair.next].map(({ toolchain }) => toolchain.version.split('.')[0] ?? '')
  return {
    argv: [
      '/bin/sh',
      '-c',
      script,
      act,
      input.toolchain.directory,
      clusterOf(input),
      ...lines,
      input.username,
      ...words,
    ],
    // Nothing of the user's own files.
    env: {
      PGPASSFILE: '/nonexistent',
      PGSERVICEFILE: '/nonexistent',
      PGCLIENTENCODING: 'UTF8',
      LC_ALL: 'C',
      PATH: path,
    },
    cwd: dataPath(input.name),
    beside: input.name,
  }
}

const path = '/usr/local/bin:/usr/bin:/bin'

function clusterOf(input: DatabaseInput): string {
  return `${dataPath(input.name)}/cluster`
}

/** For printf’s %b: nothing of a name is read as anything else on its way. */
function escaped(name: string): string {
  return [...Buffer.from(name)].map((byte) => `\\0${byte.toString(8).padStart(3, '0')}`).join('')
}
