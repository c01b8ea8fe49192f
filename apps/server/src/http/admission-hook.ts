import type { Operation } from '@stackquay/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Admission, createAdmission } from './admission.ts'
import { anonymous } from './authenticator.ts'
import type { RecordDenial } from './denials.ts'
import { mediaTypeProblem } from './read-body.ts'

type Done = (error?: Error) => void

/** What happens before the body is read: who, may they, and would the body be understood at all. */
export function createAdmissionHook(admit: ReturnType<typeof createAdmission>, recordDenial: RecordDenial) {
  return (operation: Operation) => {
    return function enter(request: FastifyRequest, _reply: FastifyReply, done: Done): void {
      request.principal = anonymous
      const params = request.params as Readonly<Record<string, string>>
      const admission = admit({ operation, params, message: request.raw })
      if (admission instanceof Promise) admission.then((admitted) => settle(operation, request, admitted, done), done)
      else settle(operation, request, admission, done)
    }
  }

  function settle(operation: Operation, request: FastifyRequest, { principal, refusal }: Admission, done: Done): void {
    request.principal = principal
    const reason = refusal ?? mediaTypeProblem(operation, request.headers)
    const recorded = reason === null ? undefined : recordDenial(operation, request, reason)
    if (recorded === undefined) done(reason ?? undefined)
    else void recorded.then(() => done(reason ?? undefined))
  }
}
