import { createClient, RESP_TYPES } from '@redis/client'
import { BrowseError, type LongCell } from '../../browse/driver.ts'
import type {
  KeyAsk,
  KeyChange,
  KeyDriver,
  KeyFacts,
  KeyItem,
  KeyServer,
  KeyText,
  KeyView,
} from '../../browse/key-driver.ts'

type Reply = Buffer | number | null | readonly Reply[]
type Send = (...words: readonly (string | Buffer)[]) => Promise<Reply>

/** Keys in steps, so that the server is never held by one question. */
export const driver: KeyDriver = {
  async open({ host, port, username, password }): Promise<KeyServer> {
    const client = createClient({
      socket: { host, port, connectTimeout: 5_000, reconnectStrategy: false },
      ...(username === null ? {} : { username }),
      ...(password === null ? {} : { password }),
      disableOfflineQueue: true,
      RESP: 2,
    })
    // A connection that breaks is told by what is asked over it.
    client.on('error', () => undefined)
    await client.connect().catch((error: Error) => {
      throw new BrowseError('unreachable', `The connection to Redis failed: ${error.message}`)
    })
    const asBytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.SIMPLE_STRING]: Buffer })
    const send: Send = async (...words) => {
      try {
        return (await asBytes.sendCommand([...words])) as unknown as Reply
      } catch (error) {
        const { message, name } = error as Error
        if (client.isReady && name !== 'TimeoutError') throw new BrowseError('refused', message)
        throw new BrowseError('unreachable', `The connection to Redis failed: ${message}`)
      }
    }
    return {
      keys: async ({ match, type, cursor, limit }) => {
        const kind = type === null ? [] : ['TYPE', type]
        const found: Buffer[] = []
        let at = cursor
        // Keys that match may be few among many: not for ever in one request.
        for (let steps = 0; steps < mostSteps && found.length < limit; steps++) {
          const [next, keys] = listOf(
            await send('SCAN', at, 'MATCH', match, 'COUNT', String(Math.max(limit, 500)), ...kind),
          )
          found.push(...listOf(keys).map(bytesOf))
          at = textOf(next)
          if (at === '0') break
        }
        const total = Number(await send('DBSIZE'))
        // A step cannot be cut: what it found is all answered.
        const keys = await Promise.all(found.slice(0, mostKeys).map((key) => factsOf(send, key)))
        return { keys: keys.filter((one) => one !== null), nextCursor: at === '0' ? null : at, total }
      },
      key: async (ask) => viewOf(send, ask),
      change: (key, change) => changeKey(send, keyBytes(key), change),
      close: async () => {
        client.destroy()
      },
    }
  },
}

const mostSteps = 40
const mostKeys = 5000
const mostValue = 64 * 1024
const mostItem = 4096

async function factsOf(send: Send, key: Buffer): Promise<KeyFacts | null> {
  const [type, ttl] = await Promise.all([send('TYPE', key), send('PTTL', key)])
  const name = textOf(type)
  return name === 'none' ? null : { key: keyText(key), type: name, ttlMs: Number(ttl) < 0 ? null : Number(ttl) }
}

async function viewOf(send: Send, { key, cursor, limit }: KeyAsk): Promise<KeyView | null> {
  const bytes = keyBytes(key)
  const facts = await factsOf(send, bytes)
  if (facts === null) return null
  const reader = readers[facts.type]
  if (reader === undefined) return { ...facts, length: 0, items: [], nextCursor: null }
  return { ...facts, ...(await reader(send, bytes, cursor, limit)) }
}

type Reader = (
  send: Send,
  key: Buffer,
  cursor: string,
  limit: number,
) => Promise<Pick<KeyView, 'length' | 'items' | 'nextCursor'>>

const readers: Readonly<Record<string, Reader>> = {
  string: async (send, key) => {
    const length = Number(await send('STRLEN', key))
    const value = bytesOf(await send('GETRANGE', key, '0', String(mostValue - 1)))
    return { length, items: [{ name: null, value: shown(value, length, mostValue), score: null }], nextCursor: null }
  },
  list: async (send, key, cursor, limit) => {
    const from = wholeNumber(cursor)
    const length = Number(await send('LLEN', key))
    const values = listOf(await send('LRANGE', key, String(from), String(from + limit - 1)))
    const items = values.map((value, at): KeyItem => ({ name: String(from + at), value: item(value), score: null }))
    return { length, items, nextCursor: from + items.length < length ? String(from + items.length) : null }
  },
  set: async (send, key, cursor, limit) => {
    const length = Number(await send('SCARD', key))
    const [next, members] = listOf(await send('SSCAN', key, cursor, 'COUNT', String(limit)))
    const items = listOf(members).map((value): KeyItem => ({ name: null, value: item(value), score: null }))
    return { length, items, nextCursor: cursorOf(next) }
  },
  hash: async (send, key, cursor, limit) => {
    const length = Number(await send('HLEN', key))
    const [next, fields] = listOf(await send('HSCAN', key, cursor, 'COUNT', String(limit)))
    const items = pairs(listOf(fields)).map(
      ([name, value]): KeyItem => ({ name: item(name), value: item(value), score: null }),
    )
    return { length, items, nextCursor: cursorOf(next) }
  },
  zset: async (send, key, cursor, limit) => {
    const from = wholeNumber(cursor)
    const length = Number(await send('ZCARD', key))
    const found = listOf(await send('ZRANGE', key, String(from), String(from + limit - 1), 'WITHSCORES'))
    const items = pairs(found).map(
      ([value, score]): KeyItem => ({ name: null, value: item(value), score: textOf(score) }),
    )
    return { length, items, nextCursor: from + items.length < length ? String(from + items.length) : null }
  },
  stream: async (send, key, cursor, limit) => {
    const length = Number(await send('XLEN', key))
    const found = listOf(await send('XRANGE', key, cursor === '0' ? '-' : `(${cursor}`, '+', 'COUNT', String(limit)))
    const items = found.map((entry): KeyItem => {
      const [id, fields] = listOf(entry)
      const object = Object.fromEntries(pairs(listOf(fields)).map(([name, value]) => [textOf(name), textOf(value)]))
      return { name: textOf(id), value: item(Buffer.from(JSON.stringify(object))), score: null }
    })
    const last = items.at(-1)?.name
    return { length, items, nextCursor: items.length === limit && typeof last === 'string' ? last : null }
  },
}

async function changeKey(send: Send, key: Buffer, change: KeyChange): Promise<boolean> {
  const type = textOf(await send('TYPE', key))
  if (type === 'none' && !('set' in change)) return false
  const require = (wanted: string) => {
    if (type === wanted || type === 'none') return
    throw new BrowseError('invalid', `The key holds a ${type}, not a ${wanted}.`)
  }
  if ('set' in change) {
    require('string')
    // Its time to live stays.
    await send('SET', key, change.set.value, 'KEEPTTL')
    return true
  }
  if ('setField' in change) {
    require('hash')
    await send('HSET', key, change.setField.field, change.setField.value)
    return true
  }
  if ('deleteField' in change) {
    require('hash')
    return Number(await send('HDEL', key, change.deleteField.field)) === 1
  }
  if ('expire' in change) {
    const { seconds } = change.expire
    await (seconds === null ? send('PERSIST', key) : send('EXPIRE', key, String(seconds)))
    return true
  }
  return Number(await send('UNLINK', key)) === 1
}

function item(value: Reply | undefined): string | LongCell {
  const bytes = bytesOf(value)
  return shown(bytes, bytes.length, mostItem)
}

function shown(bytes: Buffer, length: number, most: number): string | LongCell {
  const cut = bytes.subarray(0, most)
  const text = asUtf8(cut, length > cut.length)
  if (text === null) return { base64: cut.toString('base64'), bytes: length }
  return length > cut.length ? { cut: text, bytes: length } : text
}

/** Null when it is none. A character that a cut went through is left out. */
function asUtf8(bytes: Buffer, isCut: boolean): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut })
  } catch {
    return null
  }
}

function keyText(key: Buffer): KeyText {
  return asUtf8(key, false) ?? { base64: key.toString('base64') }
}

function keyBytes(key: KeyText): Buffer {
  return typeof key === 'string' ? Buffer.from(key) : Buffer.from(key.base64, 'base64')
}

function wholeNumber(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  throw new BrowseError('invalid', 'The cursor is none that this list answered.')
}

function cursorOf(next: Reply | undefined): string | null {
  const text = textOf(next)
  return text === '0' ? null : text
}

function pairs(list: readonly Reply[]): readonly (readonly [Reply, Reply])[] {
  return list.flatMap((name, at) => (at % 2 === 0 ? [[name, list[at + 1] ?? null] as const] : []))
}

function listOf(reply: Reply | undefined): readonly Reply[] {
  if (Array.isArray(reply)) return reply
  throw new BrowseError('refused', 'What Redis answered makes no sense.')
}

function bytesOf(reply: Reply | undefined): Buffer {
  if (Buffer.isBuffer(reply)) return reply
  return Buffer.from(reply === null || reply === undefined ? '' : String(reply))
}

function textOf(reply: Reply | undefined): string {
  return bytesOf(reply).toString('utf8')
}
