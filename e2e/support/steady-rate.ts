import { Agent as PlainAgent, type RequestOptions, request as requestPlain } from 'node:http'
import { request as requestSecure, Agent as SecureAgent } from 'node:https'
import { until } from './service.ts'

export interface SteadyRateOptions {
  readonly port: number
  readonly perSecond: number
  /** The name that is asked for. */
  readonly host?: string
  /** Over TLS, and which authority has signed what is shown. */
  readonly ca?: string
}

/** As many requests a second as are asked for, whatever becomes of those before. */
export function askAtRate({ port, perSecond, host = 'shop.localhost', ca }: SteadyRateOptions) {
  const agent = ca === undefined ? new PlainAgent({ keepAlive: true }) : new SecureAgent({ keepAlive: true, ca })
  const failures: string[] = []
  const underWay = new Set<Promise<void>>()
  const said = new Map<string, number>()
  let slowest = 0
  let most = 0
  const began = performance.now()
  let sent = 0
  const request = ca === undefined ? requestPlain : requestSecure
  const to: RequestOptions & { servername: string } = {
    ...{ host: '127.0.0.1', servername: host, port, path: '/', agent },
    headers: { host },
  }
  const one = () =>
    new Promise<void>((resolve) => {
      const at = performance.now()
      const done = (failure: string | null, text = '') => {
        if (failure === null) said.set(text, (said.get(text) ?? 0) + 1)
        else if (failures.length < 20) failures.push(failure)
        slowest = Math.max(slowest, performance.now() - at)
        resolve()
      }
      const call = request(to, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        answer.on('error', (error) => done(error.message))
        answer.on('end', () =>
          done(answer.statusCode === 200 ? null : `${answer.statusCode} ${text.slice(0, 80)}`, text),
        )
      })
      call.on('error', (error) => done(error.message))
      call.end()
    })
  // A timer that comes late on a busy machine sends what it owes.
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - began) / 1000) * perSecond)
    for (; sent < due; sent += 1) {
      const asked = one().finally(() => underWay.delete(asked))
      underWay.add(asked)
    }
    most = Math.max(most, underWay.size)
  }, 10)
  return {
    failures,
    said,
    answered: (text: string) => until(async () => (said.get(text) ?? 0) > 20 || failures.length > 0, `answers ${text}`),
    end: async () => {
      clearInterval(timer)
      const seconds = (performance.now() - began) / 1000
      await Promise.all(underWay)
      agent.destroy()
      return `${sent} requests in ${seconds.toFixed(1)} s (${Math.round(sent / seconds)}/s), ${failures.length} failed, at most ${most} waited, the slowest for ${(slowest / 1000).toFixed(1)} s`
    },
  }
}
