import type { Value } from '@stackquay/engine-api'
import { dataPath } from '@stackquay/engine-api/workload'
import type { BackupProgram } from '../../../backup-method.ts'
import type { DatabaseInput } from '../../../entry-types.ts'
import type { ArchiveInput, PointInTimeMethod } from '../../../point-in-time-method.ts'
import { markSql } from '../backup/mark-sql.ts'
import { connectionVariables } from '../backup-method.ts'
import { archiveVariables } from './archive-command.ts'
import { lookScript, markScript, pruneScript, recoverScript } from './scripts.ts'

/** By the log that PostgreSQL writes anyway (WAL): its files are archived, and played back onto a base. */
export const pointInTime: PointInTimeMethod<DatabaseInput> = {
  // A copy of a server that runs needs functions that had other names before.
  blocker: (version) => (Number.parseInt(version, 10) < 15 ? 'It needs PostgreSQL 15 or later.' : null),
  mark: (archived) => {
    const { input } = archived
    const { node, file } = input.ourProgram('postgresql-backup')
    const argv =
      input.inContainer === true
        ? shell('mark', markScript, input.toolchain.directory, markSql)
        : ([node, file, 'mark'] as const)
    return { ...program(archived, argv, connectionVariables(input)), beside: input.name }
  },
  look: (archived) => {
    const { input, origin } = archived
    return { ...program(archived, shell('look', lookScript, clusterOf(origin))), beside: input.name }
  },
  prune: (archived, before) => program(archived, shell('prune', pruneScript, before)),
  recover: (archived, { to, last }) => {
    const { toolchain, name } = archived.input
    const words = [toolchain.directory, clusterOf(name), clusterOf(archived.origin), momentText(to), last]
    return program(archived, shell('recover', recoverScript, ...words))
  },
}

/** As the server reads it before it knows names of zones. Of fractions of a second PostgreSQL keeps six digits, JavaScript three. */
export function momentText(to: string): string {
  const [day, time = ''] = new Date(to).toISOString().split('T')
  const fraction = /\.\d+/.exec(to)?.[0] ?? ''
  return `${day} ${time.slice(0, 8)}${fraction}+00`
}

function shell(act: string, script: string, ...words: readonly string[]): BackupProgram['argv'] {
  return ['/bin/sh', '-c', script, act, ...words]
}

function program(
  { input, archive }: ArchiveInput<DatabaseInput>,
  argv: BackupProgram['argv'],
  env: Readonly<Record<string, Value>> = {},
): BackupProgram {
  return {
    argv,
    env: { ...env, ...archiveVariables(archive), LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' },
    cwd: dataPath(archive),
    beside: input.name,
  }
}

function clusterOf(data: string | null): string {
  return data === null ? '' : `${dataPath(data)}/cluster`
}
