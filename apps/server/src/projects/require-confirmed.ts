import { ProblemError } from '@stackquay/contract'
import type { RequestContext } from '../http/handler.ts'

export interface Confirming {
  /** What is to be typed, and how people call it: `shop`, `the project’s slug`. */
  readonly wanted: string
  readonly called: string
  readonly act: 'restore' | 'reset' | 'pull'
}

/** An act that replaces what is there is about the project as somebody has read it. Throws `precondition_required` and `validation_failed`. */
export function requireConfirmed(
  confirm: string,
  { wanted, called, act }: Confirming,
  { ifMatch }: RequestContext,
): void {
  if (ifMatch === null)
    throw new ProblemError('precondition_required', `A ${act} needs If-Match with the ETag of the project.`)
  if (confirm === wanted) return
  throw new ProblemError('validation_failed', `A ${act} needs "confirm": "${wanted}".`, {
    errors: [{ pointer: '/confirm', code: 'confirm', detail: `Type ${called}: ${wanted}.` }],
  })
}

/** Of a whole project. */
export function requireSlug(
  confirm: string,
  { slug }: { readonly slug: string },
  act: Confirming['act'],
  context: RequestContext,
): void {
  requireConfirmed(confirm, { wanted: slug, called: 'the project’s slug', act }, context)
}
