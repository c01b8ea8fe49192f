import type { CommandContext } from '@stackquay/engine-api'
import { execMarkers, newRunId } from '../../native/marker.ts'
import { discard } from '../create-container.ts'
import type { Daemon } from '../daemon.ts'
import { COMMAND, objectName } from '../labels.ts'
import { inNetwork } from '../networks.ts'
import { ask } from '../wire/request.ts'
import { targetOf } from '../wire/target.ts'
import { containerIn, makeProgramContainer } from './docker-host.ts'
import type { ExecProgram, ExecSession } from './exec-session.ts'
import { startContainer } from './running-container.ts'

/** In a container of its own, which is gone afterwards. */
export async function runAlone(
  daemon: Daemon,
  program: ExecProgram,
  stdin: boolean,
  context: CommandContext,
): Promise<ExecSession> {
  const id = newExecId(daemon)
  const made = await makeProgramContainer(daemon, program, {
    name: objectName(daemon, program.project, 'exec', id),
    project: program.project,
    role: 'exec',
    labels: { [COMMAND]: id },
    terminal: false,
    stdin,
    reveal: context.reveal,
  })
  try {
    const target = await targetOf(daemon.docker)
    const running = await inNetwork(daemon, containerIn(program).network, () =>
      startContainer(target, made.id, { stdin, signal: context.signal }),
    )
    return {
      stream: running.stream,
      pid: async () => {
        const { State } = (await ask(target, 'GET', `/containers/${made.id}/json`)) as { State: { Pid: number } }
        return State.Pid
      },
      signal: (name) => void running.kill(name).catch(() => {}),
      exit: () => running.exited,
      end: (policy) => running.end(policy),
      // All that it started ends with it.
      lingers: () => new Promise(() => {}),
      isComplaint: () => false,
      dispose: () => discard(made),
    }
  } catch (error) {
    await discard(made)
    throw error
  }
}

/** Names the process that waits for it, so that what is left of one that was killed is found. */
function newExecId({ home, table }: Daemon): string {
  return `exec_${ownerIn(execMarkers({ home, table }, 'any'))}_${newRunId()}`
}

/** Whether the process that waited for it has ended. */
export function isOrphan({ table }: Daemon, id: string): boolean {
  const owner = /^exec_(\d+-\w+)_/.exec(id)?.[1]
  const pid = Number.parseInt(owner ?? '', 10)
  return owner === undefined || owner !== `${pid}-${table.find(pid)?.startTime ?? 'gone'}`
}

function ownerIn(marker: string): string {
  return marker.split('.')[3] ?? ''
}
