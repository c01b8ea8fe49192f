import type { ChallengeType } from '../rules/names.ts'

export interface Proof {
  /** Without `*.`: what the certificate authority names. */
  readonly name: string
  readonly token: string
  readonly keyAuthorization: string
}

/** How one kind of challenge is answered. Both acts may be done twice. */
export interface Solver {
  readonly type: ChallengeType
  present(proof: Proof, signal: AbortSignal): Promise<void>
  /** After all are presented: until the answer can be seen, or why it cannot. */
  ready(proof: Proof, signal: AbortSignal): Promise<void>
  cleanUp(proof: Proof, signal: AbortSignal): Promise<void>
}
