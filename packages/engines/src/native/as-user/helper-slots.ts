import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from '../account.ts'
import { type HelperProcess, startHelper } from './helper-process.ts'

/** One helper process, and who uses it. */
export interface Slot {
  readonly key: string
  readonly helper: Promise<HelperProcess>
  users: number
  lastUsed: number
  timer: NodeJS.Timeout | null
}

export interface HelperSlots {
  has(account: Account): boolean
  /** The account's slot, made when it has none; null when all are busy. */
  slotOf(account: Account): Slot | null
  /** The slot is not ended while it is used. */
  use(slot: Slot): void
  /** Without users it is ended when its idle time is over. */
  leave(slot: Slot): void
  /** Ends the process of a slot; resolves when it is gone. */
  drop(slot: Slot): Promise<void>
  release(account: Account): Promise<void>
  /** Resolves when a slot may have become free. */
  freed(): Promise<void>
  close(): Promise<void>
}

export interface SlotOptions {
  readonly compiled: string | null
  readonly most: number
  readonly idleMs: number
}

export function createHelperSlots({ compiled, most, idleMs }: SlotOptions): HelperSlots {
  const slots = new Map<string, Slot>()
  const leaving = new Set<Promise<void>>()
  let freed = Promise.withResolvers<void>()
  const wake = () => {
    freed.resolve()
    freed = Promise.withResolvers()
  }
  const drop = (slot: Slot): Promise<void> => {
    if (slot.timer !== null) clearTimeout(slot.timer)
    if (slots.get(slot.key) === slot) slots.delete(slot.key)
    const gone = endOf(slot).finally(() => leaving.delete(gone))
    leaving.add(gone)
    wake()
    return gone
  }

  return {
    has: (account) => slots.has(keyOf(account)),
    slotOf(account) {
      const key = keyOf(account)
      const known = slots.get(key)
      if (known !== undefined) return known
      if (slots.size >= most) {
        const idle = longestIdle([...slots.values()])
        if (idle === undefined) return null
        void drop(idle)
      }
      const slot: Slot = { key, helper: startHelper(account, compiled), users: 0, lastUsed: 0, timer: null }
      slots.set(key, slot)
      const gone = () => drop(slot)
      slot.helper.then((helper) => helper.gone).then(gone, gone)
      return slot
    },
    use(slot) {
      slot.users += 1
      if (slot.timer !== null) clearTimeout(slot.timer)
    },
    leave(slot) {
      slot.users -= 1
      slot.lastUsed = performance.now()
      if (slot.users > 0) return
      slot.timer = setTimeout(() => void drop(slot), idleMs).unref()
      wake()
    },
    drop,
    async release(account) {
      const slot = slots.get(keyOf(account))
      if (slot !== undefined) await drop(slot)
    },
    freed: () => freed.promise,
    async close() {
      for (const slot of slots.values()) void drop(slot)
      await Promise.race([Promise.all(leaving), sleep(5_000)])
    },
  }
}

async function endOf(slot: Slot): Promise<void> {
  try {
    const helper = await slot.helper
    helper.end()
    await helper.gone
  } catch {}
}

function longestIdle(slots: readonly Slot[]): Slot | undefined {
  return slots.filter(({ users }) => users === 0).sort((a, b) => a.lastUsed - b.lastUsed)[0]
}

export function keyOf({ uid, gid }: Account): string {
  return `${uid}:${gid}`
}
