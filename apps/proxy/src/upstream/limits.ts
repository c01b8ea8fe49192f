import type { AnswerLimits } from './answer-parser.ts'

export interface UpstreamLimits extends AnswerLimits {
  /** How long a project may think before its first byte, in ms. */
  readonly answerWithin: number
  readonly connectWithin: number
  /** How long an unused connection is kept, in ms. */
  readonly upstreamIdle: number
  /** At most so many connections to one address; further requests wait. */
  readonly upstreamConnections: number
}
