import type { IncomingMessage } from 'node:http'
import type { HealthCheckTry } from '@stackquay/contract'
import { type HealthCheckSpec, healthCheckDefaults, isExpectedStatus, statusRanges } from '@stackquay/domain'
import { request } from '../http/node-http.ts'

/** As long as the checks of the engines wait. */
const answerMs = 10_000
const shownBytes = 2000

/**
 * One check, as the engines make them, and what was answered. It goes to this address alone: a redirect is an answer like any other, and
 * where it leads is shown, not asked.
 */
export async function tryCheck(
  { host, port }: { readonly host: string; readonly port: number },
  check: Pick<HealthCheckSpec, 'path' | 'status'>,
  signal: AbortSignal,
): Promise<HealthCheckTry> {
  const began = performance.now()
  const answer = await answerOf({ host, port, path: check.path }, signal)
  const milliseconds = Math.round(performance.now() - began)
  if (typeof answer === 'string') {
    const reason = `GET ${check.path} failed: ${answer}.`
    return { ok: false, status: null, milliseconds, reason, location: null, text: null }
  }
  const expected = check.status ?? healthCheckDefaults.status
  const ok = isExpectedStatus(answer.status, statusRanges(expected) ?? [])
  return {
    ok,
    milliseconds,
    reason: ok ? null : `GET ${check.path} answered ${answer.status}, expected ${expected}.`,
    ...answer,
  }
}

type Answer = Pick<HealthCheckTry, 'location' | 'text'> & { readonly status: number }

function answerOf(
  to: { readonly host: string; readonly port: number; readonly path: string },
  signal: AbortSignal,
): Promise<Answer | string> {
  return new Promise((resolve) => {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(answerMs)])
    const headers = { 'user-agent': 'stackquay-health', 'accept-encoding': 'identity' }
    const call = request({ ...to, agent: false, signal: deadline, headers, maxHeaderSize: 16 * 1024 })
    call.on('response', (response) => {
      void beginningOf(response).then((bytes) => {
        call.destroy()
        const { statusCode = 0, headers } = response
        resolve({
          status: statusCode,
          location: headers.location?.slice(0, shownBytes) ?? null,
          text: isText(headers) ? new TextDecoder().decode(bytes) : null,
        })
      })
    })
    call.on('error', (error) =>
      resolve(deadline.aborted ? `no answer within ${answerMs / 1000} seconds` : error.message),
    )
    call.end()
  })
}

/** Of a body that breaks off or is too slow what came of it. */
async function beginningOf(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      parts.push(part)
      bytes += part.length
      if (bytes >= shownBytes) break
    }
  } catch {}
  return Buffer.concat(parts).subarray(0, shownBytes)
}

function isText(headers: IncomingMessage['headers']): boolean {
  const type = headers['content-type'] ?? 'text/plain'
  return headers['content-encoding'] === undefined && /^(text\/|application\/([\w.-]+\+)?(json|xml)\b)/i.test(type)
}
