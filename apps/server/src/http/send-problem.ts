import type { FastifyReply, FastifyRequest } from 'fastify'
import { pathOf } from './calls.ts'
import { problemAnswer, problemErrorOf } from './problem-answer.ts'

/** Answers a request with the problem that anything thrown means. */
export type SendProblem = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

export function createSendProblem(log: { error(details: object, message: string): void }): SendProblem {
  return (thrown, request, reply) => {
    const error = problemErrorOf(thrown)
    const path = pathOf(request)
    // Work that was given up because nobody waits for it any more is no fault.
    if (error.code === 'internal_error' && !reply.raw.destroyed) {
      log.error({ err: thrown, requestId: request.id, method: request.method, path }, 'A request failed.')
    }
    const { status, headers, problem } = problemAnswer(error, { requestId: request.id, path })
    return reply
      .code(status)
      .headers(headers)
      .send(Buffer.from(JSON.stringify(problem)))
  }
}
