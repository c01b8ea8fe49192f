import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Job, WorkloadRef } from '@stackquay/engine-api'
import { readJson, writeJson } from './atomic-file.ts'
import { orNull } from './errors.ts'
import { type Home, jobStamp, jobsDir } from './home.ts'

/** A job's last run. `running` in a stamp whose process is gone means: it was cut off half-way. */
export interface JobStamp {
  readonly phase: 'running' | 'done'
  readonly fingerprint: string
  /** RFC 3339 UTC. */
  readonly at: string
}

export async function readStamp(home: Home, ref: WorkloadRef, job: string): Promise<JobStamp | null> {
  const value = await readJson(jobStamp(home, ref, job))
  return typeof value === 'object' && value !== null && 'phase' in value ? (value as JobStamp) : null
}

export async function writeStamp(home: Home, ref: WorkloadRef, job: string, stamp: JobStamp): Promise<void> {
  await mkdir(jobsDir(home, ref), { recursive: true, mode: 0o700 })
  await writeJson(jobStamp(home, ref, job), stamp)
}

export async function removeStamp(home: Home, ref: WorkloadRef, job: string): Promise<void> {
  await rm(jobStamp(home, ref, job), { force: true })
}

/** Changes when the command, its environment (secrets by reference and version) or the content of an input changes. */
export async function jobFingerprint(
  job: Job,
  inputs: readonly string[],
  hashesOf: (paths: readonly string[]) => Promise<readonly string[]> = (paths) => Promise.all(paths.map(contentHash)),
): Promise<string> {
  const hash = createHash('sha256')
  const env = Object.entries(job.env).sort(([a], [b]) => (a < b ? -1 : 1))
  hash.update(JSON.stringify([job.argv, job.cwd, env, job.stdin ?? null]))
  const hashes = await hashesOf(inputs)
  for (const [at, path] of inputs.entries()) hash.update(`\n${path}\0${hashes[at]}`)
  return hash.digest('hex').slice(0, 32)
}

/** The same for the same content. Only ordinary files are read: a pipe would never end. Of a directory, the list of entries counts. */
export async function contentHash(path: string): Promise<string> {
  const found = await orNull(stat(path))
  if (found === null) return 'absent'
  const hash = createHash('sha256')
  if (found.isFile()) await pipeline(createReadStream(path), hash)
  else if (found.isDirectory()) hash.update((await readdir(path)).sort().join('\0'))
  else hash.update('special')
  return hash.digest('hex')
}

/** An empty directory does not count: data directories are there before anything is in them. */
export async function isMade(path: string): Promise<boolean> {
  const found = await orNull(stat(path))
  if (found === null) return false
  return !found.isDirectory() || (await readdir(path)).length > 0
}
