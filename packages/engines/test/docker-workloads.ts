import assert from 'node:assert/strict'
import {
  type ApplyContext,
  type Change,
  type Engine,
  EngineError,
  fingerprintOf,
  type ProcessRun,
  type Workload,
} from '@stackquay/engine-api'

export const never = new AbortController().signal

export function contextOf(output: string[] = [], signal = never): ApplyContext {
  return { signal, reveal: async () => 'secret', output: (chunk) => void output.push(chunk.text) }
}

/** As a catalogue's kind says it, with nothing but what it runs. */
export function workloadOf(project: string, name: string, run: ProcessRun, changes: Partial<Workload> = {}): Workload {
  const spec = {
    ref: { project, workload: name },
    title: `Program ${name}`,
    run,
    env: {},
    data: [],
    ports: [],
    setup: [],
    requires: [],
    health: { kind: 'none' as const },
    restart: { kind: 'always' as const },
    stop: { signal: 'SIGTERM' as const, deadlineSeconds: 2 },
    dependsOn: [],
    ...changes,
  }
  return { ...spec, fingerprint: fingerprintOf(spec) }
}

export async function applyAll(engine: Engine, change: Change, context = contextOf()): Promise<void> {
  for (const step of engine.plan(change)) await engine.apply(step, context)
}

export const start = (engine: Engine, workload: Workload) => applyAll(engine, { type: 'start', workload })

export const remove = (engine: Engine, { ref, title, stop }: Workload) =>
  applyAll(engine, { type: 'remove', ref, title, stop })

export async function refusal(promise: Promise<unknown>): Promise<EngineError> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof EngineError, String(error))
  return error
}
