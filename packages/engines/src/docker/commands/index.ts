import { readdir, rmdir } from 'node:fs/promises'
import type { CommandRef, Commands } from '@stackquay/engine-api'
import { readShimState } from '../../native/commands/command-files.ts'
import type { CommandHost } from '../../native/commands/command-host.ts'
import { createCommands } from '../../native/commands/commands.ts'
import { hasShim, settledState } from '../../native/commands/find-command.ts'
import { commandLock, commandsDir, isName } from '../../native/home.ts'
import { withLockFile } from '../../native/lock.ts'
import { discard } from '../create-container.ts'
import type { Daemon } from '../daemon.ts'
import { listContainers } from '../find.ts'
import { COMMAND, PROJECT } from '../labels.ts'
import { dockerHost } from './docker-host.ts'
import { execProgram } from './exec.ts'
import { isOrphan } from './exec-alone.ts'
import { createNeighbours } from './exec-beside.ts'

export interface DockerCommands extends Commands {
  /** Ids of projects that have a command. */
  projects(): Promise<readonly string[]>
  close(): Promise<void>
}

/** Commands of this home, each in a container of its own. Containers without a shim are cleared away at the beginning. */
export function createDockerCommands(daemon: Daemon, closing: AbortSignal): DockerCommands {
  const host = dockerHost(daemon)
  const neighbours = createNeighbours(daemon)
  const commands = createCommands(
    host,
    (program, io, context) => execProgram(daemon, neighbours, program, io, context),
    closing,
  )
  // A daemon that does not answer now is asked again at the next look for a command.
  const swept = sweep(daemon, host, closing).catch(() => {})
  return {
    ...commands,
    projects: async () => (await readdir(daemon.home.commands)).filter(isName),
    close: () => swept,
  }
}

/** Containers of commands whose shim is gone, and of programs whose caller is. */
async function sweep(daemon: Daemon, host: CommandHost, signal: AbortSignal): Promise<void> {
  for (const { Id, Labels } of await listContainers(daemon, 'exec', undefined, signal)) {
    if (isOrphan(daemon, Labels[COMMAND] ?? '')) await discard(daemon.docker.getContainer(Id))
  }
  for (const { Labels } of await listContainers(daemon, 'command', undefined, signal)) {
    const ref = { project: Labels[PROJECT] ?? '', id: Labels[COMMAND] ?? '' }
    await clearUnheld(host, ref, signal).catch(() => {})
  }
}

async function clearUnheld(host: CommandHost, ref: CommandRef, signal: AbortSignal): Promise<void> {
  await settledState(host, ref, signal)
  // Within the lock no caller starts it: a command without a shim stays without one.
  await withLockFile(host.table, commandLock(host.home, ref), signal, async () => {
    const state = await readShimState(host.home, ref)
    if (state === null || !hasShim(host, state)) await host.clear(ref, signal)
  })
  await rmdir(commandsDir(host.home, ref.project)).catch(() => {})
}
