import { WebSocket } from 'ws'

/*
 * Followers of a log in a process of their own, as they are in life: they read and count, and look into little.
 * argv: address, token, path, readers, text of the last line, which readers stop reading (a count).
 */
const [address = '', token = '', path = '', readers = '1', last = '', stopping = '0'] = process.argv.slice(2)

interface Read {
  readonly bytes: number
  readonly seconds: number
  readonly lines: number
}

async function read(stops: boolean): Promise<Read> {
  const socket = new WebSocket(address.replace('http', 'ws') + path, { headers: { authorization: `Bearer ${token}` } })
  const began = performance.now()
  let bytes = 0
  let lines = 0
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const mark = Buffer.from('"workload":')
  socket.on('message', (data: Buffer) => {
    bytes += data.length
    if (stops && bytes > 100_000) {
      socket.pause()
      resolve()
      return
    }
    // Of one alone the lines are counted: looking into every message of a hundred would measure this process.
    if (readers === '1') for (let at = data.indexOf(mark); at >= 0; at = data.indexOf(mark, at + 1)) lines += 1
    if (data.subarray(-800).includes(last)) resolve()
  })
  socket.on('error', reject)
  socket.on('close', (code) => reject(new Error(`closed with ${code}`)))
  await promise
  const seconds = (performance.now() - began) / 1000
  if (!stops) socket.terminate()
  return { bytes, lines, seconds }
}

const stopped = Array.from({ length: Number(stopping) }, () => read(true))
await Promise.all(stopped)
const all = await Promise.all(Array.from({ length: Number(readers) }, () => read(false)))
process.stdout.write(`${JSON.stringify(all)}\n`)
process.exit(0)
