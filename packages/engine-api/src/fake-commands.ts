import type { CommandOutput, CommandRef, Commands, ExecIo } from './commands.ts'
import { EngineError } from './errors.ts'
import { createFakeCommand, type FakeCommand, type RunningFakeCommand } from './fake-command.ts'
import { type CommandProgramOfFake, fakeCommandProgram } from './fake-command-programs.ts'
import { revealAll } from './fake-env.ts'
import type { FakeMachine } from './fake-machine.ts'
import { aborted, change, rejectOnAbort } from './fake-waits.ts'
import type { Exit } from './observed.ts'

/** What the next command does in place of its program. */
export interface FakeScript {
  readonly output?: readonly { readonly stream?: 'stdout' | 'stderr'; readonly text: string }[]
  /** Left out or null: it runs on until it is ended, or the test says `finish`. */
  readonly exit?: Partial<Exit> | null
  /** `start` or `exec` fails with it. */
  readonly error?: EngineError
}

export interface FakeCommands extends Commands {
  next(script: FakeScript): void
  of(ref: CommandRef): FakeCommand | null
}

export function createFakeCommands(machine: FakeMachine, now: () => string, closing: AbortSignal): FakeCommands {
  const { commands, commandListeners: listeners } = machine
  const scripts: FakeScript[] = []
  const key = (ref: CommandRef) => `${ref.project}/${ref.id}`
  const wake = () => {
    for (const listener of [...listeners]) listener()
  }
  const found = (ref: CommandRef) => commands.get(key(ref)) ?? null
  const required = (ref: CommandRef) => {
    const command = found(ref)
    if (command === null) throw noCommand(ref)
    return command
  }

  return {
    next: (script) => void scripts.push(script),
    of: found,
    async start(spec, context) {
      if (commands.has(key(spec.ref))) return
      const script = scripts.shift()
      if (script?.error !== undefined) throw script.error
      const program = script === undefined ? fakeCommandProgram(spec.argv, spec.cwd) : scriptedProgram(script)
      const env = await revealAll(spec.env, context)
      if (context.signal.aborted) throw aborted()
      if (commands.has(key(spec.ref))) return
      const command = createFakeCommand(spec, env, program, { pid: machine.nextPid++, now, wake })
      commands.set(key(spec.ref), command)
      command.begin()
    },
    find: async (ref) => found(ref)?.state ?? null,
    list: async () => [...commands.values()].map((command) => command.spec.ref),
    read: (ref, options, signal) =>
      readOutput(() => required(ref), options, listeners, AbortSignal.any([signal, closing])),
    async write(ref, bytes) {
      const command = required(ref)
      if (command.spec.terminal === null) throw noTerminal(ref)
      if (command.state.state === 'ended') throw hasEnded(ref)
      command.take(Buffer.from(bytes))
    },
    async resize(ref, size) {
      const command = required(ref)
      if (command.spec.terminal === null) throw noTerminal(ref)
      if (command.state.state === 'running') command.resize(size)
    },
    async end(ref) {
      const command = found(ref)
      command?.finish(command.stubborn ? { signal: 'SIGKILL' } : { signal: command.spec.stop.signal }, 'cancelled')
    },
    async remove(ref) {
      const command = found(ref)
      if (command?.state.state === 'running') throw stillRuns(ref)
      commands.delete(key(ref))
    },
    async exec(program, io, context) {
      const script = scripts.shift()
      if (script?.error !== undefined) throw script.error
      const runs = script === undefined ? fakeCommandProgram(program.argv, program.cwd) : scriptedProgram(script)
      const env = await revealAll(program.env, context)
      if (context.signal.aborted) throw aborted()
      return execute(runs, env, io, context.signal, { pid: machine.nextPid++, now })
    },
  }
}

async function* readOutput(
  get: () => RunningFakeCommand,
  options: { readonly after: number; readonly follow: boolean },
  listeners: Set<() => void>,
  signal: AbortSignal,
): AsyncGenerator<readonly CommandOutput[]> {
  let { after } = options
  let checked = false
  while (!signal.aborted) {
    const command = get()
    if (!checked && !command.isPosition(after)) throw invalidPosition(after)
    checked = true
    const ended = command.state.state === 'ended'
    const batch = command.chunks
      .filter((chunk) => chunk.to > after)
      .slice(0, 256)
      .map((chunk) => cut(chunk, after))
    const last = batch.at(-1)
    if (last !== undefined) {
      after = last.to
      yield batch
    } else if (ended || !options.follow) return
    else await change(listeners, signal)
  }
}

function cut(chunk: CommandOutput, after: number): CommandOutput {
  return chunk.from >= after ? chunk : { ...chunk, from: after, bytes: chunk.bytes.subarray(after - chunk.from) }
}

async function execute(
  program: CommandProgramOfFake,
  env: Readonly<Record<string, string>>,
  io: ExecIo,
  signal: AbortSignal,
  world: { readonly pid: number; now(): string },
): Promise<Exit> {
  const signalled = Promise.withResolvers<Partial<Exit>>()
  io.started?.({ pid: world.pid, signal: (name) => signalled.resolve({ signal: name }) })
  const run = async (): Promise<Partial<Exit>> => {
    for (const { stream, bytes } of program.output(env, null)) await io.output(stream ?? 'stdout', bytes)
    if (program.copies === true) {
      for await (const bytes of io.stdin ?? []) await io.output('stdout', Buffer.from(bytes))
      return { code: 0 }
    }
    return program.exit ?? new Promise<never>(() => {})
  }
  const exit = await Promise.race([run(), signalled.promise, rejectOnAbort(signal)])
  return { code: null, signal: null, at: world.now(), ...exit }
}

function scriptedProgram(script: FakeScript): CommandProgramOfFake {
  return {
    output: () =>
      (script.output ?? []).map(({ stream, text }) => ({ stream: stream ?? 'stdout', bytes: Buffer.from(text) })),
    exit: script.exit ?? null,
  }
}

function noCommand(ref: CommandRef): EngineError {
  return new EngineError('engine_cannot', `There is no command ${ref.id}.`, { hint: 'It was removed; start another.' })
}

function noTerminal(ref: CommandRef): EngineError {
  return new EngineError('engine_cannot', `The command ${ref.id} has no terminal.`, { hint: 'Open a terminal.' })
}

function hasEnded(ref: CommandRef): EngineError {
  return new EngineError('engine_cannot', `The command ${ref.id} has ended.`, { hint: 'Start another.' })
}

function stillRuns(ref: CommandRef): EngineError {
  return new EngineError('engine_cannot', `The command ${ref.id} still runs.`, { hint: 'End it first.' })
}

function invalidPosition(position: number): EngineError {
  return new EngineError('invalid_position', `Nothing was ever answered with the position ${position}.`, {
    hint: 'Read again from the beginning, position 0.',
  })
}
