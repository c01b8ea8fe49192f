import { type CommandRef, type CommandSpec, type Container, EngineError } from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import type { CommandHost } from '../../native/commands/command-host.ts'
import { throwIfAborted } from '../../native/errors.ts'
import { createContainer, discard, type NewContainer } from '../create-container.ts'
import type { Daemon } from '../daemon.ts'
import { asDockerError, orAbsent } from '../errors.ts'
import { COMMAND, isManaged, objectName } from '../labels.ts'
import { targetOf } from '../wire/target.ts'
import type { ShimContainer } from './shim-container.ts'

const STARTER = new URL('./shim-container.ts', import.meta.url).href

/** Commands whose program is a container of its own, which their shim starts, listens to and removes. */
export function dockerHost(daemon: Daemon): CommandHost {
  const { home, table } = daemon
  return {
    home,
    table,
    now: () => daemon.now(),
    // Shims run as the user of the service.
    suspects: () => ({ table, uids: new Set([process.getuid?.() ?? -1]) }),
    group: () => null,
    removeGroups: () => true,
    shimGroups: () => [],
    async prepare(spec, context) {
      const { ref } = spec
      const made = await orSaid(context.signal, () =>
        makeProgramContainer(daemon, spec, {
          name: containerOf(daemon, ref),
          project: ref.project,
          role: 'command',
          labels: { [COMMAND]: ref.id },
          terminal: spec.terminal !== null,
          stdin: spec.terminal !== null,
          reveal: context.reveal,
        }),
      )
      throwIfAborted(context.signal)
      const shimSpec: ShimContainer = { target: await targetOf(daemon.docker), container: made.id }
      return {
        program: { argv: spec.argv, cwd: spec.cwd, env: {} },
        user: null,
        signalsAreCodes: false,
        memoryEvents: null,
        elsewhere: { starter: STARTER, shimSpec },
      }
    },
    cannotStart: (_spec, { message }) => cannotStart(message),
    clear: (ref, signal) => orSaid(signal, () => removeContainer(daemon, ref)),
    spareMs: 20_000,
  }
}

const containerOf = (daemon: Daemon, { project, id }: CommandRef) => objectName(daemon, project, 'command', id)

type Program = Pick<CommandSpec, 'argv' | 'cwd' | 'env' | 'data' | 'container'>

/** A container for one program, with everything checked that Docker would only report by an exit code. */
export async function makeProgramContainer(
  daemon: Daemon,
  program: Program,
  wanted: Pick<NewContainer, 'name' | 'project' | 'role' | 'labels' | 'terminal' | 'stdin' | 'reveal'>,
): Promise<Dockerode.Container> {
  const container = containerIn(program)
  const { argv, cwd, env, data } = program
  return createContainer(daemon, { ...wanted, argv, cwd, env, data, container, ports: [] })
}

export function containerIn({ container }: Pick<Program, 'container'>): Container {
  if (container !== undefined) return container
  throw new EngineError('engine_cannot', 'This engine runs images, and was given a program without one.', {
    hint: 'Move the project to an engine that runs programs of its machine.',
  })
}

async function removeContainer(daemon: Daemon, ref: CommandRef): Promise<void> {
  const found = await orAbsent(daemon.docker.getContainer(containerOf(daemon, ref)).inspect())
  if (found !== null && isManaged(daemon, found.Config.Labels)) await discard(daemon.docker.getContainer(found.Id))
}

/** What Docker said about a start, passed on by the shim. */
function cannotStart(message: string): EngineError {
  const said = message.replace(/^.*?: \d{3} /, '')
  const isMissing = /no such file or directory|executable file not found|permission denied/.test(said)
  return new EngineError(isMissing ? 'program_not_found' : 'io_failed', `The container could not be started: ${said}`, {
    hint: isMissing
      ? 'Check that the program exists in the image and may be executed.'
      : 'See the message, then try again.',
  })
}

async function orSaid<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw asDockerError(error, signal)
  }
}
