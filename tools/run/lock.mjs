import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cache } from './places.mjs'
import { Refusal } from './refusal.mjs'

const patienceMs = 15 * 60_000

/** Runs `act` while no other process of this working copy does something under the same name. */
export async function withLock(name, act) {
  mkdirSync(cache, { recursive: true })
  const file = join(cache, `${name}.lock`)
  const deadline = Date.now() + patienceMs
  let told = false
  while (!take(file)) {
    const holder = holderOf(file)
    if (holder === null) {
      clearAway(file)
      continue
    }
    if (Date.now() > deadline) throw new Refusal(`Process ${holder} still holds ${file}. End it, or remove that file.`)
    if (!told) console.error(`Waiting for process ${holder}, which is busy with "${name}" …`)
    told = true
    await sleep(200)
  }
  const release = () => rmSync(file, { force: true })
  // An interrupt must not leave the lock behind, nor is `finally` run by it.
  const interrupted = (signal) => {
    release()
    process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  process.once('SIGINT', interrupted)
  process.once('SIGTERM', interrupted)
  try {
    return await act()
  } finally {
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', interrupted)
    release()
  }
}

function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Another waiter may have cleared it away and taken it a moment ago: what was moved aside is looked at, and put back if it lives. */
function clearAway(file) {
  const aside = `${file}.${process.pid}`
  try {
    renameSync(file, aside)
  } catch {
    return
  }
  try {
    if (holderOf(aside) !== null) linkSync(aside, file)
  } finally {
    rmSync(aside, { force: true })
  }
}

/** The pid of a living holder. null when there is none. A file just made may not have its pid yet: it counts as held. */
function holderOf(file) {
  try {
    const text = readFileSync(file, 'utf8')
    if (text === '') return 'unknown'
    process.kill(Number(text), 0)
    return text
  } catch (error) {
    if (error.code === 'EPERM') return 'of another user'
    return null
  }
}
