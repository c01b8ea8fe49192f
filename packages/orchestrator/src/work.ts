import type { ApplyContext, Change, Engine } from '@stackquay/engine-api'

/** One thing an operation does. Doing it twice is the same as doing it once: after a crash an operation begins again. */
export interface WorkStep {
  readonly id: string
  readonly title: string
  /** Steps that follow each other and have branches run beside each other. One without waits for all before it, and all wait for it. */
  readonly branch?: Branch
  run(context: StepContext): Promise<void>
}

export interface Branch {
  /** Steps of one branch run in their order. */
  readonly name: string
  /** Branches among the same steps that must have ended first. */
  readonly after: readonly string[]
}

export interface StepContext {
  readonly signal: AbortSignal
  output(chunk: { readonly stream: 'stdout' | 'stderr'; readonly text: string }): void
}

/**
 * What an operation of one kind does. Stages are asked for their steps one after the other, each after the one before
 * has ended, because what is to be done depends on what is there then.
 */
export interface Work {
  readonly stages: readonly (() => Promise<readonly WorkStep[]>)[]
  readonly deadlineSeconds: number
  /** After the last step, before the operation is reported as ended. Not called when the service itself is ended. */
  settle(outcome: Outcome): Promise<void>
}

export type Outcome =
  | { readonly state: 'succeeded' }
  | { readonly state: 'failed'; readonly error: unknown }
  | { readonly state: 'cancelled' }

/** The engine's steps for these changes, as steps of an operation. `applied` is called after each, also when it failed. */
export function engineSteps(
  engine: Engine,
  changes: readonly Change[],
  reveal: ApplyContext['reveal'],
  applied: () => void,
): readonly WorkStep[] {
  return changes
    .flatMap((change) => engine.plan(change))
    .map((step) => ({
      id: step.id,
      title: step.title,
      run: (context) => engine.apply(step, { signal: context.signal, output: context.output, reveal }).finally(applied),
    }))
}
