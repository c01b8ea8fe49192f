import type { CommandOutput, CommandSpec, CommandState, TerminalSize } from './commands.ts'
import { createFakeCommandOutput } from './fake-command-output.ts'
import type { CommandProgramOfFake } from './fake-command-programs.ts'
import type { Exit } from './observed.ts'

/** A command in memory. It prints what its program or the test says, and ends when one of them says so. */
export interface FakeCommand {
  readonly spec: CommandSpec
  /** The environment as the program got it, secrets revealed. */
  readonly env: Readonly<Record<string, string>>
  readonly state: CommandState
  /** Everything that was written to it. */
  readonly input: Buffer
  print(text: string | Uint8Array, stream?: 'stdout' | 'stderr'): void
  finish(exit?: Partial<Exit>, cause?: NonNullable<CommandState['cause']>): void
}

export interface RunningFakeCommand extends FakeCommand {
  readonly chunks: readonly CommandOutput[]
  readonly stubborn: boolean
  isPosition(position: number): boolean
  begin(): void
  take(bytes: Buffer): void
  resize(size: TerminalSize): void
}

interface CommandWorld {
  readonly pid: number
  now(): string
  wake(): void
}

export function createFakeCommand(
  spec: CommandSpec,
  env: Readonly<Record<string, string>>,
  program: CommandProgramOfFake,
  world: CommandWorld,
): RunningFakeCommand {
  const output = createFakeCommandOutput(spec.keepBytes)
  const typed: Buffer[] = []
  let idle: NodeJS.Timeout | undefined
  let timeout: NodeJS.Timeout | undefined
  let state = runningState(spec, world)
  const stir = () => {
    clearTimeout(idle)
    if (spec.idleSeconds === null || state.state === 'ended') return
    idle = setTimeout(() => command.finish({ signal: spec.stop.signal }, 'idle'), spec.idleSeconds * 1000).unref()
  }
  const command: RunningFakeCommand = {
    spec,
    env,
    stubborn: program.stubborn === true,
    get state() {
      return state
    },
    get input() {
      return Buffer.concat(typed)
    },
    chunks: output.chunks,
    isPosition: (position) =>
      spec.terminal === null ? output.isBoundary(position) : position >= 0 && position <= output.range.end,
    begin() {
      if (spec.timeoutSeconds !== null) {
        const milliseconds = spec.timeoutSeconds * 1000
        timeout = setTimeout(() => command.finish({ signal: spec.stop.signal }, 'timeout'), milliseconds).unref()
      }
      stir()
      for (const { stream, bytes } of program.output(env, state.size)) command.print(bytes, stream)
      if (program.exit !== null) command.finish(program.exit)
    },
    take(bytes) {
      typed.push(bytes)
      stir()
      command.print(bytes)
    },
    resize(size) {
      state = { ...state, size }
      if (program.onResize !== undefined) command.print(program.onResize(size))
      world.wake()
    },
    print(text, stream = 'stdout') {
      const bytes = Buffer.from(text)
      if (bytes.length === 0 || state.state === 'ended') return
      stir()
      output.add(spec.terminal === null ? stream : 'terminal', Date.parse(world.now()), bytes)
      state = { ...state, output: output.range }
      world.wake()
    },
    finish(exit = { code: 0 }, cause = 'exited') {
      if (state.state === 'ended') return
      clearTimeout(idle)
      clearTimeout(timeout)
      const at = world.now()
      state = {
        ...state,
        state: 'ended',
        pid: null,
        endedAt: at,
        exit: { code: null, signal: null, at, ...exit },
        cause,
      }
      world.wake()
    },
  }
  return command
}

function runningState(spec: CommandSpec, world: CommandWorld): CommandState {
  return {
    ref: spec.ref,
    state: 'running',
    pid: world.pid,
    startedAt: world.now(),
    endedAt: null,
    exit: null,
    cause: null,
    size: spec.terminal,
    output: { first: 0, end: 0 },
  }
}
