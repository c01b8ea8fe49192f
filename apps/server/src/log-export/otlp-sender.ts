import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { LogExportTarget } from '@stackquay/domain'
import { otlpLogs, partialSuccessOf } from '@stackquay/domain/otlp-logs'
import { post } from '../webhooks/post.ts'
import { retryAfter } from '../webhooks/retries.ts'
import { exportHeaders } from './headers-file.ts'
import { failed, type Sender, type SenderOptions } from './sender.ts'

const compress = promisify(gzip)
const answerBytes = 4096

/**
 * Answers about the batch itself: the same one would get them again. All others are tried again, also those for which the protocol asks
 * not to: a wrong token or path is put right by people, and lines would be lost until then.
 */
const aboutTheBatch: ReadonlySet<number> = new Set([400, 413, 422])

/** OTLP over HTTP, in JSON. */
export function createOtlpSender(
  { url }: Extract<LogExportTarget, { kind: 'otlp' }>,
  { hostName, headersFile, now }: SenderOptions,
): Sender {
  return {
    async send(lines, signal) {
      try {
        const own = headersFile === null ? {} : await exportHeaders(headersFile)
        const body = await compress(JSON.stringify(otlpLogs(lines, hostName)))
        const headers = { ...own, 'content-encoding': 'gzip', 'user-agent': 'Stackquay-Logs/1' }
        const { status, error, ...rest } = await post(url, headers, body, signal, undefined, answerBytes)
        if (error === null) return { kind: 'taken', ...partialSuccessOf(rest.answer ?? '') }
        if (status !== null && aboutTheBatch.has(status)) return { kind: 'refused', reason: error }
        return failed(error, retryAfter(rest.retryAfter, now()))
      } catch (error) {
        return failed(error)
      }
    },
    close: () => undefined,
  }
}
