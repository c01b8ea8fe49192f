import type { Step } from './change.ts'
import type { CommandRef } from './commands.ts'
import type { ApplyContext, Engine, PortHolder } from './engine.ts'
import { EngineError, noImages } from './errors.ts'
import type { FakeCommand } from './fake-command.ts'
import { createFakeCommands, type FakeScript } from './fake-commands.ts'
import { createFakeMachine, type FakeMachine, type FakeWorkload, keyOf } from './fake-machine.ts'
import { fakeProgram } from './fake-programs.ts'
import { aborted, change, pause, rejectOnAbort } from './fake-waits.ts'
import type { EngineEvent, Exit, LogBatch, LogLine, LogOptions, Observed } from './observed.ts'
import { stepsOf } from './steps.ts'
import { revealValue } from './value.ts'
import type { Job, Workload, WorkloadRef } from './workload.ts'

/** An engine in memory, for tests of everything above engines. It keeps the contract, until it is told not to. */
export interface FakeEngine extends Engine {
  readonly machine: FakeMachine
  /** Every step that was given to `apply`, in order, with how it went. */
  readonly applied: readonly AppliedStep[]
  /** The next step of that kind (or with that id) fails, once. */
  failNext(step: Step['do'] | (string & {}), error?: EngineError): void
  /** The next step of that kind (or with that id) goes on until it is aborted or `release` is called. */
  hangNext(step: Step['do'] | (string & {})): { release(): void }
  /** From now on every step takes so long. */
  slow(milliseconds: number): void
  /** Ends a running workload as if it had crashed. */
  crash(ref: WorkloadRef, exit?: Partial<Exit>): void
  setHealth(ref: WorkloadRef, health: 'healthy' | 'unhealthy', reason?: string): void
  /** Makes a file that workloads may wait for. */
  addFile(path: string): void
  /** A program of nobody's project takes a port. */
  holdPort(port: number, program: string, pid: number): void
  /** The workload writes a line. */
  print(ref: WorkloadRef, text: string, stream?: 'stdout' | 'stderr'): void
  /** `probe` answers that the engine is not usable. */
  setUnavailable(reason: string | null): void
  /** The next command does this in place of its program. */
  nextCommand(script: FakeScript): void
  /** A command that was started, to let it print and end. */
  command(ref: CommandRef): FakeCommand | null
  toolchainsFound: Awaited<ReturnType<Engine['toolchains']>>
}

export interface AppliedStep {
  readonly step: Step
  outcome: 'running' | 'done' | 'failed'
}

export interface FakeEngineOptions {
  /** Share one to pretend that another control plane comes after this one. */
  readonly machine?: FakeMachine
  readonly clock?: () => Date
  /** It runs images too, and holds what it runs to limits. */
  readonly images?: boolean
}

export function createFakeEngine(options: FakeEngineOptions = {}): FakeEngine {
  const machine = options.machine ?? createFakeMachine()
  const now = () => (options.clock?.() ?? new Date()).toISOString()
  const applied: AppliedStep[] = []
  const failures = new Map<string, EngineError>()
  const hangs = new Map<string, Promise<void>>()
  const closing = new AbortController()
  const listeners = new Set<() => void>()
  const events: EngineEvent[] = []
  let delay = 0
  let unavailable: string | null = null
  const commands = createFakeCommands(machine, now, closing.signal)

  const wakeAll = () => {
    for (const wake of [...listeners]) wake()
  }
  const emit = (event: EngineEvent) => {
    events.push(event)
    wakeAll()
  }
  const find = (ref: WorkloadRef) => machine.workloads.get(keyOf(ref))
  const logOf = (ref: WorkloadRef): LogLine[] => {
    const known = machine.logs.get(keyOf(ref)) ?? []
    machine.logs.set(keyOf(ref), known)
    return known
  }

  function print(ref: WorkloadRef, text: string, stream: 'stdout' | 'stderr' = 'stdout'): void {
    const cursor = String(machine.nextCursor++).padStart(12, '0')
    if (find(ref) !== undefined) logOf(ref).push({ ref, time: now(), stream, text, cursor })
    wakeAll()
  }

  function dataOf(project: string): { name: string; sizeBytes: number }[] {
    return [...machine.data]
      .filter(([key]) => key.startsWith(`${project}/`))
      .map(([key, sizeBytes]) => ({ name: key.slice(project.length + 1), sizeBytes }))
  }

  function end(found: FakeWorkload, state: 'exited' | 'stopped', exit: Partial<Exit>): void {
    found.state = state
    found.pid = null
    found.health = 'none'
    found.reason = null
    found.since = now()
    found.lastExit = { code: null, signal: null, at: now(), ...exit }
    if (state === 'exited') emit({ type: 'exited', ref: found.workload.ref, exit: found.lastExit })
  }

  async function start(workload: Workload, context: ApplyContext): Promise<void> {
    const before = find(workload.ref)
    if (before?.state === 'running' && before.workload.fingerprint === workload.fingerprint) return
    if (before?.state === 'running') end(before, 'stopped', { signal: workload.stop.signal })
    const missing = workload.requires.find((required) => !required.anyOf.some((path) => machine.files.has(path)))
    const next: FakeWorkload = {
      workload,
      state: missing === undefined ? 'running' : 'waiting',
      health: 'none',
      reason: missing?.hint ?? null,
      pid: null,
      since: now(),
      lastExit: before?.lastExit ?? null,
      env: {},
      log: logOf(workload.ref),
      ...(workload.run.container === undefined
        ? {}
        : { image: machine.images.of(workload.ref, workload.run.container.image) }),
    }
    if (missing === undefined) {
      for (const binding of workload.ports) refuseTaken(machine, workload.ref, binding)
      const program = fakeProgram(workload.run.argv)
      const env: Record<string, string> = {}
      for (const [name, value] of Object.entries(workload.env)) env[name] = await revealValue(value, context.reveal)
      if (context.signal.aborted) throw aborted()
      for (const { name } of workload.data) machine.data.set(`${workload.ref.project}/${name}`, 4096)
      machine.workloads.set(keyOf(workload.ref), next)
      next.env = env
      next.pid = machine.nextPid++
      next.health = workload.health.kind === 'none' ? 'none' : 'starting'
      emit({ type: 'started', ref: workload.ref, pid: next.pid })
      if (program.does === 'print') print(workload.ref, JSON.stringify(env[program.variable]))
      if (program.does === 'exit') {
        for (const line of program.lines) print(workload.ref, line)
        end(next, 'exited', { code: program.code })
      }
    } else machine.workloads.set(keyOf(workload.ref), next)
  }

  async function ready(workload: Workload, signal: AbortSignal): Promise<void> {
    const found = find(workload.ref)
    if (found?.state === 'waiting') return
    if (found?.state !== 'running') {
      const code = found?.lastExit?.code ?? null
      throw new EngineError('exited_early', `${workload.title} ended with exit code ${code} before it was ready.`, {
        hint: 'Its last output says why; correct that and start it again.',
        logTail: (found?.log ?? []).slice(-20).map((line) => line.text),
      })
    }
    if (workload.health.kind === 'none' || found.health === 'healthy') return
    if (fakeProgram(workload.run.argv).does === 'never-listen') {
      await pause(workload.health.timeoutSeconds * 1000, signal)
      const seconds = workload.health.timeoutSeconds
      throw new EngineError('never_ready', `${workload.title} was not ready within ${seconds} seconds.`, {
        hint: 'It listens on no port.',
        retryable: true,
        logTail: found.log.slice(-20).map((line) => line.text),
      })
    }
    found.health = 'healthy'
    emit({ type: 'healthy', ref: workload.ref })
  }

  async function runJob(ref: WorkloadRef, job: Job, force: boolean, context: ApplyContext): Promise<void> {
    const key = `${keyOf(ref)}/${job.name}`
    const fingerprint = JSON.stringify([job.argv, job.cwd, job.env])
    const done = machine.jobs.get(key)
    if (done !== undefined && (job.once === true || (done === fingerprint && !force))) return
    const program = fakeProgram(job.argv)
    for (const value of Object.values(job.env)) await revealValue(value, context.reveal)
    if (program.does === 'hang') {
      await pause(job.timeoutSeconds * 1000, context.signal)
      throw new EngineError(
        'job_timeout',
        `${job.title} was still running after ${job.timeoutSeconds} seconds and was ended.`,
        { hint: 'Try again.' },
      )
    }
    const lines = program.does === 'exit' ? program.lines : []
    for (const line of lines) context.output({ stream: 'stdout', text: `${line}\n` })
    if (program.does === 'exit' && program.code !== 0) {
      throw new EngineError('job_failed', `${job.title} failed with exit code ${program.code}.`, {
        hint: 'Its last output says why.',
        logTail: lines,
      })
    }
    machine.jobs.set(key, fingerprint)
  }

  function deleteData(project: string, name: string): void {
    for (const { workload, state } of machine.workloads.values()) {
      if (
        workload.ref.project !== project ||
        state !== 'running' ||
        !workload.data.some((mount) => mount.name === name)
      )
        continue
      throw new EngineError(
        'engine_cannot',
        `The data "${name}" is in use by ${workload.title} and cannot be deleted.`,
        { hint: 'Stop it first.' },
      )
    }
    machine.data.delete(`${project}/${name}`)
  }

  async function act(step: Step, context: ApplyContext): Promise<void> {
    switch (step.do) {
      case 'start':
        return start(step.workload, context)
      case 'ready':
        return ready(step.workload, context.signal)
      case 'pull':
        if (options.images !== true) throw noImages()
        return machine.images.pull(step.ref, step.image, step.newer)
      case 'job':
        return runJob(step.ref, step.job, step.force, context)
      case 'stop': {
        const found = find(step.ref)
        if (found?.state === 'running') end(found, 'stopped', { signal: step.stop.signal })
        else if (found !== undefined) found.state = 'stopped'
        return
      }
      case 'remove':
        for (const key of machine.jobs.keys()) if (key.startsWith(`${keyOf(step.ref)}/`)) machine.jobs.delete(key)
        machine.workloads.delete(keyOf(step.ref))
        return
      case 'deleteData':
        return deleteData(step.project, step.data)
      case 'strays':
        return
      default:
        return step satisfies never
    }
  }

  const take = <T>(from: Map<string, T>, step: Step): T | undefined => {
    const key = from.has(step.id) ? step.id : step.do
    const value = from.get(key)
    from.delete(key)
    return value
  }

  return {
    id: 'fake',
    capabilities: {
      processes: true,
      images: options.images === true,
      limits: options.images === true,
      imageRollback: options.images === true,
      strays: 'none',
      exec: true,
      mayBeAway: false,
      exclusive: true,
    },
    machine,
    applied,
    toolchainsFound: [],
    async probe() {
      return unavailable === null
        ? { ready: true, detail: 'A pretended machine.', warnings: [] }
        : { ready: false, reason: unavailable, hint: 'Make it available.' }
    },
    async toolchains() {
      return this.toolchainsFound
    },
    async projects() {
      const { workloads, data, jobs, commands, logs } = machine
      const keys = [workloads, data, jobs, commands, logs].flatMap((held) => [...held.keys()])
      return [...new Set(keys.map((key) => key.split('/')[0] ?? ''))].sort()
    },
    async observe(project) {
      return [...machine.workloads.values()]
        .filter((found) => found.workload.ref.project === project)
        .map((found) => observed(machine, found))
    },
    plan: stepsOf,
    async apply(step, context) {
      const entry: AppliedStep = { step, outcome: 'running' }
      applied.push(entry)
      try {
        if (context.signal.aborted) throw aborted()
        if (delay > 0) await pause(delay, context.signal)
        const hang = take(hangs, step)
        if (hang !== undefined) await Promise.race([hang, rejectOnAbort(context.signal)])
        const failure = take(failures, step)
        if (failure !== undefined) throw failure
        await act(step, context)
        entry.outcome = 'done'
      } catch (error) {
        entry.outcome = 'failed'
        throw error
      }
    },
    watch(signal) {
      const all = AbortSignal.any([signal, closing.signal])
      let at = events.length
      return (async function* () {
        while (!all.aborted) {
          const event = events[at]
          if (event === undefined) await change(listeners, all)
          else {
            at += 1
            yield event
          }
        }
      })()
    },
    async *logs(ref, logOptions, signal) {
      const all = AbortSignal.any([signal, closing.signal])
      for await (const batch of readLog(() => logOf(ref), logOptions, listeners, all)) yield* batch.lines
    },
    logBatches: (ref, logOptions, signal) =>
      readLog(() => logOf(ref), logOptions, listeners, AbortSignal.any([signal, closing.signal])),
    async removeLogs(project) {
      for (const id of machine.logs.keys()) if (id.startsWith(`${project}/`)) machine.logs.delete(id)
    },
    async stats(project) {
      return [...machine.workloads.values()]
        .filter(({ workload, state }) => workload.ref.project === project && state === 'running')
        .map(({ workload }) => ({
          ref: workload.ref,
          time: now(),
          cpu: 0,
          memoryBytes: 1 << 20,
          processes: 1,
          readBytes: null,
          writtenBytes: null,
        }))
    },
    async address(ref, port) {
      const found = find(ref)
      const binding = found?.workload.ports.find((candidate) => candidate.name === port)
      return found?.state === 'running' && binding !== undefined ? { host: '127.0.0.1', port: binding.hostPort } : null
    },
    portHolder: async (port) => holderOf(machine, port),
    dataNames: async (project) => dataOf(project).map(({ name }) => name),
    data: async (project) => dataOf(project),
    async copyData(from, to, name) {
      const size = machine.data.get(`${from}/${name}`)
      if (size === undefined || machine.data.has(`${to}/${name}`)) {
        throw new EngineError('engine_cannot', `The data "${name}" cannot be copied.`, { hint: 'Check both projects.' })
      }
      machine.data.set(`${to}/${name}`, size)
    },
    usage: async () => [],
    commands,
    async close() {
      closing.abort()
    },
    failNext(step, error) {
      failures.set(
        step,
        error ??
          new EngineError('io_failed', 'The fake engine was told to fail.', { hint: 'Try again.', retryable: true }),
      )
    },
    hangNext(step) {
      const { promise, resolve } = Promise.withResolvers<void>()
      hangs.set(step, promise)
      return { release: resolve }
    },
    slow(milliseconds) {
      delay = milliseconds
    },
    crash(ref, exit = { code: 1 }) {
      const found = find(ref)
      if (found?.state === 'running') end(found, 'exited', exit)
    },
    setHealth(ref, health, reason = 'The check fails.') {
      const found = find(ref)
      if (found?.state !== 'running') return
      found.health = health
      found.reason = health === 'unhealthy' ? reason : null
      emit(health === 'healthy' ? { type: 'healthy', ref } : { type: 'unhealthy', ref, reason })
    },
    addFile(path) {
      machine.files.add(path)
      for (const { workload, state } of machine.workloads.values()) {
        if (
          state !== 'waiting' ||
          !workload.requires.every((required) => required.anyOf.some((file) => machine.files.has(file)))
        )
          continue
        emit({ type: 'unblocked', ref: workload.ref })
      }
    },
    holdPort(port, program, pid) {
      machine.foreignPorts.set(port, { program, pid })
    },
    print,
    nextCommand: commands.next,
    command: commands.of,
    setUnavailable(reason) {
      unavailable = reason
    },
  }
}

function observed(machine: FakeMachine, found: FakeWorkload): Observed {
  const { workload } = found
  const unblocked =
    found.state === 'waiting' &&
    workload.requires.every((required) => required.anyOf.some((path) => machine.files.has(path)))
  return {
    ref: workload.ref,
    state: unblocked ? 'stopped' : found.state,
    fingerprint: workload.fingerprint,
    since: found.since,
    pid: found.pid,
    ports: workload.ports.map(({ name, port, hostPort }) => ({ name, port, hostPort })),
    lastExit: found.lastExit,
    health: found.health,
    reason: unblocked ? null : found.reason,
    title: workload.title,
    stop: workload.stop,
    dependsOn: workload.dependsOn,
    ...(found.image === undefined ? {} : { image: found.image }),
  }
}

function holderOf(machine: FakeMachine, port: number): PortHolder | null {
  const foreign = machine.foreignPorts.get(port)
  if (foreign !== undefined) return { ...foreign, ref: null }
  for (const { workload, state, pid } of machine.workloads.values()) {
    if (state === 'running' && workload.ports.some((binding) => binding.hostPort === port))
      return { pid, program: 'fake', ref: workload.ref }
  }
  return null
}

function refuseTaken(machine: FakeMachine, ref: WorkloadRef, binding: Workload['ports'][number]): void {
  const holder = holderOf(machine, binding.hostPort)
  if (holder === null || (holder.ref !== null && keyOf(holder.ref) === keyOf(ref))) return
  throw new EngineError('port_in_use', `Port ${binding.hostPort} is used by "${holder.program}" (pid ${holder.pid}).`, {
    hint: `Stop it, or choose another port for "${binding.name}".`,
    retryable: true,
  })
}

async function* readLog(
  lines: () => readonly LogLine[],
  options: LogOptions,
  listeners: Set<() => void>,
  signal: AbortSignal,
): AsyncGenerator<LogBatch> {
  let after = options.after ?? ''
  const { since = '', until = '9', upTo = '9' } = options
  const news = () =>
    lines().filter((line) => line.cursor > after && line.cursor <= upTo && line.time >= since && line.time <= until)
  const first = news()
  let batch = options.tail === undefined ? first : first.slice(Math.max(0, first.length - options.tail))
  after = first.at(-1)?.cursor ?? after
  let isTold = false
  while (!signal.aborted) {
    if (batch.length > 0) yield { lines: batch, columns: null }
    if (options.follow !== true) return
    if (batch.length === 0 && isTold) await change(listeners, signal)
    else if (batch.length === 0) yield { lines: [], columns: null }
    isTold = batch.length === 0
    batch = news()
    after = batch.at(-1)?.cursor ?? after
  }
}
