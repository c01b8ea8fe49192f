import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { SealingKey } from '@stackquay/store'
import { ConfigError, parseKey } from './config.ts'

/** The key that seals secrets, and where it is kept: given from outside, or in the home's file. */
export interface KeyPlace {
  readonly source: 'file' | 'environment'
  /** What the database is to be opened with. */
  readonly candidates: { readonly sealingKey: SealingKey; readonly nextKey?: SealingKey }
  /** The key of this id, when it is one of those that stand here. */
  find(id: string): SealingKey | null
  /** False after a replacement whose last step failed, which a start ends, and while the key is held. */
  isSettled(): boolean
  /** No replacement begins until the function that this answers was called. */
  hold(): () => void
  /** Once the database said which of the candidates seals it: the file then holds that one, and nothing stands beside it. */
  settle(id: string): void
  /** Writes a new key beside the one in use, on the disk before this returns. It is not in use yet. */
  putNext(key: SealingKey): void
}

/**
 * A replacement goes: the next key to `secret.key.next`, everything sealed anew in one transaction, then `settle`, which
 * renames. Ended anywhere in between, there are two files at the next start, and the database knows which one it needs.
 */
export function keyPlace(home: string, given: Buffer | null): KeyPlace {
  return given === null ? inHome(home) : fromEnvironment(sealingKeyOf(given))
}

/** The key that stands here already; null where the first start would make one. */
export function givenKey(home: string, given: Buffer | null): SealingKey | null {
  return given === null ? read(join(home, 'secret.key')) : sealingKeyOf(given)
}

export function sealingKeyOf(key: Buffer): SealingKey {
  return { id: createHash('sha256').update('stackquay sealing key\0').update(key).digest('hex').slice(0, 12), key }
}

function fromEnvironment(key: SealingKey): KeyPlace {
  return {
    source: 'environment',
    candidates: { sealingKey: key },
    find: (id) => (id === key.id ? key : null),
    isSettled: () => true,
    hold: () => () => undefined,
    settle: () => undefined,
    putNext: () => {
      throw new TypeError('A key from the environment is replaced there.')
    },
  }
}

function inHome(home: string): KeyPlace {
  const file = join(home, 'secret.key')
  const nextFile = `${file}.next`
  for (const cutOff of [file, nextFile]) rmSync(besideOf(cutOff), { force: true })
  let present = read(file)
  let next = read(nextFile)
  if (present === null && next === null) {
    refuseToStartAnew(home)
    present = sealingKeyOf(randomBytes(32))
    write(file, present)
  }
  let current = (present ?? next)!
  let isHeld = false

  return {
    source: 'file',
    candidates: { sealingKey: current, ...(next === null || next === current ? {} : { nextKey: next }) },
    find: (id) => [current, next].find((key) => key?.id === id) ?? null,
    isSettled: () => next === null && !isHeld,
    hold: () => {
      isHeld = true
      return () => {
        isHeld = false
      }
    },
    settle: (id) => {
      if (next?.id === id) {
        renameSync(nextFile, file)
        syncFolder(file)
        current = next
      } else rmSync(nextFile, { force: true })
      next = null
    },
    putNext: (key) => {
      if (next !== null) throw new Error('An earlier replacement of the key is not settled.')
      write(nextFile, key)
      next = key
    },
  }
}

/** A new key for a database that has one already would only hide which one is missing. */
function refuseToStartAnew(home: string): void {
  const database = join(home, 'stackquay.db')
  if (!existsSync(database) || statSync(database).size === 0) return
  throw new ConfigError(
    `The key that seals the secrets is missing: ${join(home, 'secret.key')} is not there. Put it back, or set STACKQUAY_SECRET_KEY to it.`,
  )
}

function read(file: string): SealingKey | null {
  try {
    const key = parseKey(readFileSync(file, 'utf8'))
    chmodSync(file, 0o600)
    return sealingKeyOf(key)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    // A first start, or a replacement, that was ended while it wrote: nothing was sealed with it.
    if (error instanceof ConfigError && statSync(file).size === 0) return null
    throw error
  }
}

/** Whole or not at all: a key that was half written must not be taken for one. */
function write(file: string, { key }: SealingKey): void {
  const beside = besideOf(file)
  writeFileSync(beside, `${key.toString('base64')}\n`, { mode: 0o600, flush: true })
  renameSync(beside, file)
  syncFolder(file)
}

function besideOf(file: string): string {
  return `${file}.writing`
}

/** A rename is on the disk when its folder is. */
function syncFolder(file: string): void {
  const folder = openSync(dirname(file), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
