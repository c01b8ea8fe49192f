import type { EventRecord, OperationRecord } from '@stackquay/contract'

/** Output lines of a step that a page holds; older ones stay with the service. */
export const keptOutput = 2000

/**
 * What an `operation.changed` event makes of the record the page holds. The event carries a summary, so output that
 * was already received stays; an event that is older than what is held (a finished one never runs again) changes nothing.
 */
export function mergeOperation(held: OperationRecord | undefined, incoming: OperationRecord): OperationRecord {
  if (held === undefined) return incoming
  if (isOver(held) && !isOver(incoming)) return held
  const outputs = new Map(held.steps.map((step) => [step.id, step.output]))
  return {
    ...held,
    ...incoming,
    steps: incoming.steps.map((step) => {
      const before = outputs.get(step.id) ?? []
      return (step.output ?? []).length >= before.length
        ? { ...step, output: step.output ?? [] }
        : { ...step, output: before }
    }),
  }
}

/** The record of an answer, with what an event told meanwhile: without it an operation that ended would be shown as running for ever. */
export function answeredOperation(told: OperationRecord | undefined, answer: OperationRecord): OperationRecord {
  return told !== undefined && isOver(told) && !isOver(answer)
    ? mergeOperation(answer, told)
    : mergeOperation(told, answer)
}

/** An event of a step's progress has less than the record, too little to be shown as one. */
export function isWhole(operation: Partial<OperationRecord>): boolean {
  return operation.createdAt !== undefined
}

/** What an `operation.output` event makes of it. Lines of a step the page does not know yet are left for the next read. */
export function appendOutput(held: OperationRecord, step: string, lines: readonly string[]): OperationRecord {
  return {
    ...held,
    steps: held.steps.map((known) =>
      known.id === step ? { ...known, output: [...known.output, ...lines].slice(-keptOutput) } : known,
    ),
  }
}

export function isOver(operation: Pick<OperationRecord, 'state'>): boolean {
  return operation.state === 'succeeded' || operation.state === 'failed' || operation.state === 'cancelled'
}

export function operationOf(event: EventRecord): OperationRecord | null {
  const data = event.data as Partial<OperationRecord>
  if (typeof data.id !== 'string' || typeof data.state !== 'string' || !Array.isArray(data.steps)) return null
  return data as OperationRecord
}

export function outputOf(event: EventRecord): { operation: string; step: string; lines: readonly string[] } | null {
  const { operation, step, lines } = event.data
  if (typeof operation !== 'string' || typeof step !== 'string' || !Array.isArray(lines)) return null
  return { operation, step, lines: lines.filter((line): line is string => typeof line === 'string') }
}
