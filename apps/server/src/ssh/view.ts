import type { ProjectSsh } from '@stackquay/contract'
import { sshUserOf } from '@stackquay/domain'
import type { HostKey } from './host-key.ts'
import type { SshState } from './server.ts'

export interface SshPlace {
  /** As people reach it. */
  readonly host: string
  readonly port: number
  readonly state: SshState
  readonly hostKey: HostKey | null
}

/** Of the project what the commands name. */
export interface SshParts {
  readonly workloads: readonly string[]
  /** Its first database. */
  readonly database: { readonly name: string; readonly port: number } | null
}

/** How a project is reached: everything that somebody has to type, ready. */
export function projectSsh(slug: string, { workloads, database }: SshParts, place: SshPlace): ProjectSsh {
  const { host, port, state, hostKey } = place
  const user = sshUserOf(slug, null)
  const at = `${user}@${host.includes(':') ? `[${host}]` : host}`
  const alias = `stackquay-${slug}`
  // Another port at home: the usual one may be that of a database of the person’s own.
  const led =
    database === null ? '3000:localhost:3000' : `${(database.port % 50_000) + 10_000}:${database.name}:${database.port}`
  const commands: ProjectSsh['commands'] = [
    { name: 'ssh', command: `ssh -p ${port} ${user}@${host}` },
    { name: 'command', command: `ssh -p ${port} ${user}@${host} 'ls -la'` },
    { name: 'sftp', command: `sftp -P ${port} ${at}` },
    { name: 'scp', command: `scp -P ${port} -r FOLDER ${at}:` },
    { name: 'rsync', command: `rsync -az -e 'ssh -p ${port}' FOLDER/ ${at}:FOLDER/` },
    { name: 'sshfs', command: `sshfs -p ${port} ${at}:/ FOLDER` },
    { name: 'forward', command: `ssh -p ${port} -N -L ${led} ${user}@${host}` },
    { name: 'vscode', command: `code --remote ssh-remote+${alias} .` },
  ]
  return {
    listening: state.kind === 'listening',
    reason: reasonOf(state),
    host,
    port,
    user,
    workloads: workloads.map((workload) => ({ workload, user: sshUserOf(slug, workload) })),
    hostKey:
      hostKey === null
        ? null
        : {
            type: hostKey.type,
            fingerprint: hostKey.fingerprint,
            knownHosts: `${port === 22 ? host : `[${host}]:${port}`} ${hostKey.publicKey}`,
          },
    commands,
    config: [`Host ${alias}`, `  HostName ${host}`, `  Port ${port}`, `  User ${user}`, '  ForwardAgent no', ''].join(
      '\n',
    ),
  }
}

function reasonOf(state: SshState): string | null {
  if (state.kind === 'off') return 'SSH is switched off: STACKQUAY_SSH is "off".'
  return state.kind === 'listening' ? null : state.reason
}
