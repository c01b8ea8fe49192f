import assert from 'node:assert/strict'
import type { Step } from './change.ts'
import type { Harness } from './conformance-harness.ts'
import type { ApplyContext, Engine } from './engine.ts'
import { EngineError } from './errors.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { EngineEvent, LogLine, Observed } from './observed.ts'
import type { Job, ProcessRun, Workload, WorkloadRef } from './workload.ts'

/** Longer than anything a test waits for on a busy machine. */
const PATIENCE_MS = 15_000

interface Options {
  readonly signal?: AbortSignal
  readonly output?: string[]
}

export type Conversation = Awaited<ReturnType<typeof converse>>

/** One engine, and short words for what the tests do with it. */
export async function converse(harness: Harness, secret: string) {
  const engine: Engine = await harness.open()
  const signal = new AbortController().signal
  const project = 'conformance'

  const context = (options: Options = {}): ApplyContext => ({
    signal: options.signal ?? signal,
    reveal: async () => secret,
    output: (chunk) => void options.output?.push(chunk.text),
  })
  const apply = (step: Step, options: Options = {}) => engine.apply(step, context(options))
  const applyAll = async (steps: readonly Step[], options: Options = {}) => {
    for (const step of steps) await apply(step, options)
  }

  return {
    engine,
    signal,
    project,
    context,
    apply,
    /** A web server, with whatever the test wants different. */
    async workload(
      name: string,
      changes: Partial<Omit<Workload, 'ref' | 'fingerprint'>> = {},
      timeoutSeconds?: number,
    ): Promise<Workload> {
      const port = await harness.freePort()
      const seconds =
        timeoutSeconds ?? (changes.run?.argv.join(' ') === harness.programs.neverListen().argv.join(' ') ? 0.5 : 20)
      const spec: Omit<Workload, 'fingerprint'> = {
        ref: { project, workload: name },
        title: `Program ${name}`,
        run: harness.programs.serve(),
        data: [],
        ports: [{ name: 'http', port: harness.listenPort?.() ?? port, hostPort: port, bind: '127.0.0.1' }],
        setup: [],
        requires: [],
        health: { kind: 'http', port: 'http', path: '/', status: [200, 399], timeoutSeconds: seconds },
        restart: { kind: 'never' },
        stop: { signal: 'SIGTERM', deadlineSeconds: 5 },
        dependsOn: [],
        ...changes,
        env: { PORT: String(harness.listenPort?.() ?? port), ...changes.env },
      }
      return { ...spec, fingerprint: fingerprintOf(spec) }
    },
    changed(workload: Workload, changes: Partial<Omit<Workload, 'fingerprint'>>): Workload {
      const { fingerprint: _old, ...spec } = { ...workload, ...changes }
      return { ...spec, fingerprint: fingerprintOf(spec) }
    },
    job(name: string, run: ProcessRun, changes: Partial<Job> = {}): Job {
      return {
        name,
        title: `Job ${name}`,
        ...programOf(run),
        env: {},
        timeoutSeconds: 20,
        inputs: [],
        ...changes,
      }
    },
    start: (workload: Workload) => applyAll(engine.plan({ type: 'start', workload })),
    stop: ({ ref, title, stop }: Workload) => applyAll(engine.plan({ type: 'stop', ref, title, stop })),
    remove: ({ ref, title, stop }: Workload) => applyAll(engine.plan({ type: 'remove', ref, title, stop })),
    async fails(steps: readonly Step[], options: Options = {}): Promise<EngineError> {
      const error: unknown = await applyAll(steps, options).then(
        () => null,
        (reason: unknown) => reason,
      )
      assert.ok(error instanceof EngineError, `expected an EngineError, got ${String(error)}`)
      return error
    },
    async observe(name: string): Promise<Observed | undefined> {
      return (await engine.observe(project, signal)).find((one) => one.ref.workload === name)
    },
    /** The first line of the log that matches, when it comes. */
    async line(ref: WorkloadRef, matches: (line: LogLine) => boolean): Promise<LogLine> {
      for await (const line of engine.logs(ref, { follow: true }, AbortSignal.timeout(PATIENCE_MS)))
        if (matches(line)) return line
      throw new Error('the line did not come')
    },
    watch() {
      const stop = new AbortController()
      const seen: EngineEvent[] = []
      const waiting = new Set<() => void>()
      void (async () => {
        for await (const event of engine.watch(stop.signal)) {
          seen.push(event)
          for (const wake of waiting) wake()
        }
      })()
      return {
        seen: (type: EngineEvent['type']) => seen.filter((event) => event.type === type).length,
        async next(matches: (event: EngineEvent) => boolean): Promise<EngineEvent> {
          const deadline = AbortSignal.timeout(PATIENCE_MS)
          for (;;) {
            const found = seen.find(matches)
            if (found !== undefined) return found
            assert.ok(!deadline.aborted, `the event did not come; seen: ${JSON.stringify(seen)}`)
            await new Promise<void>((resolve) => {
              const wake = () => {
                waiting.delete(wake)
                resolve()
              }
              waiting.add(wake)
              deadline.addEventListener('abort', wake, { once: true })
            })
          }
        },
        end: () => stop.abort(),
      }
    },
    end: () => engine.close(),
  }
}

/** What a job or a command takes of it. */
export function programOf({
  argv,
  cwd,
  container,
  limits,
}: ProcessRun): Pick<ProcessRun, 'argv' | 'cwd' | 'container' | 'limits'> {
  return { argv, cwd, ...(container === undefined ? {} : { container }), ...(limits === undefined ? {} : { limits }) }
}
