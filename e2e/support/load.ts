import { createHash, randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { until } from './service.ts'

/** Answers bodies with their digest, which run of it that was, and COLOUR; some of them late. Ends politely, as programs should. */
export const loadProgram = `
const { createHash, randomUUID } = require('crypto')
const { createServer } = require('http')
const run = randomUUID()
const server = createServer((request, response) => {
  const hash = createHash('sha256')
  let size = 0
  request.on('data', (chunk) => { hash.update(chunk); size += chunk.length })
  request.on('end', () => {
    const body = JSON.stringify({ run, colour: process.env.COLOUR ?? null, size, digest: hash.digest('hex') })
    setTimeout(() => response.end(body), request.url === '/late' ? 150 : 0)
  })
}).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`

/** Eight clients on connections that stay, each sending the next request as soon as it has an answer. */
export function startLoad(port: number, host = 'shop.localhost') {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const failures: string[] = []
  const runs = new Set<string>()
  let colour: string | null = null
  let answers = 0
  let slowest = 0
  let ended = false
  const began = performance.now()

  const client = async (number: number) => {
    for (let turn = number; !ended; turn += 1) {
      const body = turn % 2 === 0 ? null : randomBytes(turn % 3 === 0 ? 70_000 : 900)
      const path = turn % 5 === 0 ? '/late' : '/'
      const began = performance.now()
      try {
        const { status, text } = await send(agent, port, host, path, body)
        if (status !== 200) throw new Error(`${status} ${text.slice(0, 200)}`)
        const answer = JSON.parse(text) as { run: string; colour: string | null; size: number; digest: string }
        const digest = createHash('sha256')
          .update(body ?? '')
          .digest('hex')
        if (answer.size !== (body?.length ?? 0) || answer.digest !== digest) throw new Error(`wrong body: ${text}`)
        runs.add(answer.run)
        colour = answer.colour
        answers += 1
      } catch (error) {
        failures.push(`${body === null ? 'GET' : 'POST'} ${path}: ${(error as Error).message}`)
        // A client that fails at once must not fill the memory of the test.
        if (failures.length > 20) return
      }
      slowest = Math.max(slowest, performance.now() - began)
    }
  }
  const clients = Promise.all(Array.from({ length: 8 }, (_, number) => client(number)))
  return {
    failures,
    runs,
    /** What the last answer said. */
    get colour() {
      return colour
    },
    /** Milliseconds of the request that took longest. */
    get slowest() {
      return slowest
    },
    answersMore: async (count: number) => {
      const goal = answers + count
      await until(async () => answers >= goal || failures.length > 20, `${count} more answers`)
    },
    /** For the diagnostics of a test. */
    inWords: () => {
      const seconds = (performance.now() - began) / 1000
      return `${answers} requests in ${seconds.toFixed(1)} s (${Math.round(answers / seconds)}/s), ${failures.length} failed, the slowest took ${Math.round(slowest)} ms`
    },
    end: async () => {
      ended = true
      await clients
      agent.destroy()
    },
  }
}

function send(agent: Agent, port: number, host: string, path: string, body: Buffer | null) {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly status: number; readonly text: string }>()
  const method = body === null ? 'GET' : 'POST'
  const headers = { host, ...(body === null ? {} : { 'content-length': body.length }) }
  const call = request({ host: '127.0.0.1', port, path, method, agent, headers, timeout: 60_000 }, (answer) => {
    const chunks: Buffer[] = []
    answer.on('data', (chunk: Buffer) => chunks.push(chunk))
    answer.on('error', reject)
    answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }))
  })
  call.on('timeout', () => call.destroy(new Error('no answer within a minute')))
  call.on('error', reject)
  call.end(body ?? undefined)
  return promise
}
