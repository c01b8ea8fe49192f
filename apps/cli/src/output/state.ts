import type { Colors } from './style.ts'
import type { Cell } from './table.ts'

/** A state with its shape and colour; the shape carries it where there are no colours. */
export function stateCell(state: string, colors: Colors): Cell {
  const [shape, paint] = looks[state] ?? ['·', 'dim']
  return { text: `${shape} ${state}`, paint: colors[paint] }
}

export function stateText(state: string, colors: Colors): string {
  const { text, paint } = stateCell(state, colors)
  return paint?.(text) ?? text
}

const looks: Readonly<Record<string, readonly [shape: string, paint: 'green' | 'yellow' | 'red' | 'cyan' | 'dim']>> = {
  running: ['●', 'green'],
  succeeded: ['✔', 'green'],
  ok: ['✔', 'green'],
  starting: ['◐', 'cyan'],
  stopping: ['◐', 'cyan'],
  creating: ['◐', 'cyan'],
  deleting: ['◐', 'cyan'],
  queued: ['◌', 'cyan'],
  waiting: ['◌', 'cyan'],
  info: ['ℹ', 'cyan'],
  degraded: ['◆', 'yellow'],
  unhealthy: ['◆', 'yellow'],
  'backing-off': ['◆', 'yellow'],
  warning: ['▲', 'yellow'],
  failed: ['✖', 'red'],
  crashed: ['✖', 'red'],
  error: ['✖', 'red'],
  cancelled: ['○', 'dim'],
  stopped: ['○', 'dim'],
  sleeping: ['☾', 'dim'],
}
