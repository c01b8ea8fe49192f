import type { IsolationState } from '@stackquay/contract'
import type { InstanceIsolation } from './isolation.ts'
import { notPrevented } from './not-prevented.ts'

/** As callers with credentials see it. */
export function isolationState({ chosen, offers, broken }: ShownIsolation): IsolationState {
  return {
    level: chosen.level,
    features: [...chosen.features],
    broken,
    notPrevented: [...notPrevented(chosen, offers.root)],
  }
}

export type ShownIsolation = Pick<InstanceIsolation, 'chosen' | 'offers' | 'broken'>
