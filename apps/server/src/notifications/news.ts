import type { Ending, Incident } from '@stackquay/domain'

/** What came of one event: what happened, and what is well again of what is remembered. */
export interface News {
  readonly incidents: readonly Incident[]
  /** Everything below this key that is remembered, but for what happened just now and what is still on its way. */
  readonly wellBelow: {
    readonly prefix: string
    /** Answers null for what is not well. */
    ending(key: string): Ending | null
  } | null
}

export const noNews: News = { incidents: [], wellBelow: null }

/** Keys of what belongs to no project. */
export const ofInstance = 'instance'
