import { ApiError } from '@stackquay/client'
import type { Problem } from '@stackquay/contract'

/** The problem that a call was refused with. Fails when the call was not refused. */
export async function refusal(call: Promise<unknown>): Promise<Problem> {
  try {
    await call
  } catch (error) {
    if (error instanceof ApiError) return error.problem
    throw error
  }
  throw new Error('the call was not refused')
}
