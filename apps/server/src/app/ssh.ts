import { startSftp } from '@stackquay/engines'
import { portOwner } from '@stackquay/proxy/port-owner'
import { createThrottle } from '../access/throttle.ts'
import { compiledFolder } from '../home.ts'
import { createRightsWatch } from '../http/rights-watch.ts'
import { environmentsOf } from '../projects/environments.ts'
import { onDeletion } from '../projects/on-deletion.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { createCallers } from '../ssh/caller.ts'
import type { ConnectionDeps } from '../ssh/connection.ts'
import { sshContext } from '../ssh/context.ts'
import { createForwarding } from '../ssh/forwarding.ts'
import { type HostKey, openHostKey } from '../ssh/host-key.ts'
import { startProtocol } from '../ssh/protocol/start.ts'
import { createSshServer, type SshServer } from '../ssh/server.ts'
import { createSftpPlaces, sendsLinkFirst } from '../ssh/sftp-places.ts'
import { createShells } from '../ssh/shells.ts'
import { createExec } from '../terminals/exec.ts'
import { version } from '../version.ts'
import type { Access } from './access.ts'
import type { Commands } from './commands.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'
import type { Sleeping } from './sleeping.ts'

/** The SSH service. Does not listen yet. */
export interface Ssh extends SshServer {
  readonly hostKey: HostKey
}

export interface SshParts {
  readonly instance: Instance
  readonly resolving: Resolving
  readonly projects: KnownProjects
  readonly commands: Commands
  readonly access: Access
  readonly sleeping: Pick<Sleeping, 'uses' | 'awake'>
}

export async function openSsh(
  { instance, resolving, projects, commands, access, sleeping }: SshParts,
  { config, log, now, onError }: AppContext,
): Promise<Ssh> {
  const { store, engine, isolation, reveal } = instance
  const { resolver, filesOf } = resolving
  const hostKey = await openHostKey(store)
  const rights = createRightsWatch(log)
  const exec = createExec({ store, engine, resolver, filesOf, reveal })
  const forwarding = createForwarding({ projects: projects.model, engine, accounts: isolation.accounts })
  const compiled = await compiledFolder(config.home)
  const sftp = createSftpPlaces((place) => startSftp({ ...place, compiled }))
  const shells = createShells(resolver)

  const enter: ConnectionDeps['enter'] = ({ principal, project, user, name }, peer, requestId, signal) => {
    const context = sshContext(principal, peer, requestId, signal)
    const found = async () => {
      const row = await store.projects.find(project.id)
      refuseUnready(row)
      return row!
    }
    const projectNow = async () => sleeping.awake(await found(), context)
    whileOpen(signal, sleeping.uses.begin(project.id))
    const workload = user.workload ?? undefined
    return {
      project,
      projectNow,
      workload,
      user: name,
      context,
      terminals: commands.terminals,
      exec,
      forwarding,
      shellArgv: async (line) => shells.running(await projectNow(), workload, line),
      plainShellArgv: async () => shells.reading(await projectNow(), workload),
      startSftp: async () => {
        // Files are there while it sleeps.
        const row = await found()
        return sftp.start({
          account: await isolation.accounts.of(row.id),
          root: row.path,
          linkFirst: sendsLinkFirst(peer.software),
          ahead: true,
        })
      },
      onError,
    }
  }
  const server = createSshServer({
    address: config.ssh,
    hostKey,
    version,
    startProtocol: () => startProtocol(compiled),
    callers: createCallers(store, access.authenticator, () => environmentsOf(projects.model)),
    denied: access.denied,
    throttle: createThrottle({ now: () => now().getTime() }),
    rights,
    enter,
    note: async ({ project, context }, action, after) => {
      await store.transaction(async (tx) => {
        if (action === 'ssh.open' && context.principal.kind === 'key') await tx.sshKeys.touch(context.principal.key.id)
        const entry = { action, target: project.slug, project: project.id, changes: { after } }
        await tx.audit.append(context.audit(entry))
      })
    },
    usedBy: async (port) => {
      const owner = await portOwner(port)
      return owner === undefined || owner.pid === process.pid ? 'another program' : `"${owner.name}" (pid ${owner.pid})`
    },
    onError,
  })
  const stopListening = onDeletion(store, (project) => server.endOf(project))
  return {
    ...server,
    hostKey,
    close: async () => {
      stopListening()
      rights.close()
      await server.close()
      await sftp.close()
    },
  }
}

/** Whoever is connected uses the project. */
function whileOpen(gone: AbortSignal, end: () => void): void {
  if (gone.aborted) end()
  else gone.addEventListener('abort', end, { once: true })
}
