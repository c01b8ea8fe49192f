import { type Service, until } from './service.ts'

/**
 * A program of a project that writes the same number to a PostgreSQL, a Redis and a file with every POST, one after the other, and
 * answers when all three have it. It ends politely: what it has begun it finishes.
 */
export const counterProgram = `
const { execFile } = require('node:child_process')
const { promisify } = require('node:util')
const { createServer } = require('node:http')
const { connect } = require('node:net')
const { readFile, writeFile } = require('node:fs/promises')
const run = promisify(execFile)
const redis = new URL(process.env.REDIS_URL)
const encode = (words) => '*' + words.length + '\\r\\n' + words.map((word) => '$' + Buffer.byteLength(word) + '\\r\\n' + word + '\\r\\n').join('')
const ask = (words) => new Promise((resolve, reject) => {
  const socket = connect(Number(redis.port), redis.hostname)
  let text = ''
  socket.setEncoding('utf8').on('error', reject)
  socket.on('data', (chunk) => { text += chunk })
  socket.on('end', () => {
    const lines = text.split('\\r\\n')
    if (text.includes('-ERR') || text.includes('-NOAUTH') || text.includes('-LOADING')) reject(new Error(text))
    else resolve(lines[1] === '$-1' ? 0 : lines[1].startsWith('$') ? Number(lines[2]) : 0)
  })
  const auth = redis.username === '' ? ['AUTH', decodeURIComponent(redis.password)] : ['AUTH', decodeURIComponent(redis.username), decodeURIComponent(redis.password)]
  socket.write(encode(auth) + encode(words) + encode(['QUIT']))
})
const count = async () => {
  const n = (await ask(['GET', 'n'])) + 1
  await run('psql', ['-v', 'ON_ERROR_STOP=1', '-qc', 'CREATE TABLE IF NOT EXISTS counted (n int); INSERT INTO counted VALUES (' + n + ')', process.env.DATABASE_URL])
  await ask(['SET', 'n', String(n)])
  await writeFile('counter', String(n))
  return n
}
let turn = Promise.resolve()
const server = createServer(async (request, response) => {
  try {
    if (request.method === 'POST') {
      turn = turn.catch(() => undefined).then(count)
      response.end(String(await turn))
    } else {
      const file = Number(await readFile('counter', 'utf8').catch(() => '0'))
      response.end(JSON.stringify({ redis: await ask(['GET', 'n']), file }))
    }
  } catch (error) {
    response.statusCode = 500
    response.end(String(error.stack))
  }
}).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`

/** One request after the other, each counted when it is answered. */
export function startCounting(service: Service, slug: string) {
  const failures: string[] = []
  let answers = 0
  let isOver = false
  const ended = (async () => {
    while (!isOver) {
      const { status, body } = await service.get(slug, '/', { method: 'POST', body: '' })
      if (status === 200) answers += 1
      else failures.push(`${status} ${body.slice(0, 300)}`)
      if (failures.length > 5) return
    }
  })()
  return {
    failures,
    more: async (count: number) => {
      const wanted = answers + count
      await until(async () => answers >= wanted || failures.length > 5, `${count} more answers`, 60_000)
    },
    end: async () => {
      isOver = true
      await ended
    },
  }
}
