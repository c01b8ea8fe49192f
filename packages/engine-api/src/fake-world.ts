import type { FakeEvents } from './fake-events.ts'
import type { FakeMachine } from './fake-machine.ts'

/** What the parts of one fake engine share. */
export interface FakeWorld {
  readonly machine: FakeMachine
  readonly events: FakeEvents
  /** It runs images too. */
  readonly images: boolean
  now(): string
}
