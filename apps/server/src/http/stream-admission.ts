import type { IncomingMessage } from 'node:http'
import { type Operation, ProblemError } from '@stackquay/contract'
import type { Admission, AdmissionRequest } from './admission.ts'
import type { AnyInput, AnyStreamHandler } from './bind.ts'
import type { RecordDenial } from './denials.ts'
import type { Principal } from './handler.ts'
import type { OperationPaths } from './operation-paths.ts'
import type { OriginRules } from './origin.ts'
import { parserOf } from './parse.ts'
import { problemErrorOf } from './problem-answer.ts'
import { requireRaised } from './rights.ts'

export interface StreamAdmissionDeps {
  readonly admit: (request: AdmissionRequest) => Admission | Promise<Admission>
  readonly origins: OriginRules
  readonly paths: OperationPaths
  readonly streams: readonly { readonly operation: Operation; readonly handler: AnyStreamHandler }[]
  readonly recordDenial: RecordDenial
}

/** A request for a stream that may begin. */
export interface AdmittedStream {
  readonly principal: Principal
  /** With which it is looked at again while the stream goes on. */
  readonly request: AdmissionRequest
  readonly handler: AnyStreamHandler
  readonly input: AnyInput
}

/** Finds the stream that a request is for, and whether it may begin. Throws `ProblemError` when not, and records who was denied. */
export function createStreamAdmission({ admit, origins, paths, streams, recordDenial }: StreamAdmissionDeps) {
  const routes = new Map(
    streams.map((stream) => [stream.operation.id, { ...stream, parse: parserOf(stream.operation) }]),
  )
  return async (message: IncomingMessage, requestId: string): Promise<AdmittedStream> => {
    const { pathname, searchParams } = new URL(message.url ?? '/', 'http://service')
    const found =
      message.method === 'GET' ? paths.at(pathname).find(({ operation }) => routes.has(operation.id)) : undefined
    if (found === undefined) throw new ProblemError('not_found', `There is no stream at ${pathname}.`)
    const { operation, params } = found
    const request = { ...found, message }
    const { principal, refusal } = await admit(request)
    const deny = async (reason: unknown) => {
      await recordDenial(operation, { id: requestId, principal, params, raw: message }, reason)
      throw reason
    }
    const reason = refusal ?? foreignOrigin(message, origins)
    if (reason !== null) return deny(reason)
    const { handler, parse } = routes.get(operation.id)!
    const input = parse({ params, query: Object.fromEntries(searchParams), body: undefined })
    try {
      requireRaised(principal, operation, input)
    } catch (error) {
      return deny(error)
    }
    return { principal, request, handler, input }
  }
}

/** A page of another site can open a WebSocket with our cookie; only its Origin tells. */
function foreignOrigin({ headers }: IncomingMessage, origins: OriginRules): ProblemError | null {
  if (headers.origin === undefined) return null
  try {
    origins.checkOrigin({ ...headers, 'sec-fetch-site': undefined })
    return null
  } catch (error) {
    return problemErrorOf(error)
  }
}
