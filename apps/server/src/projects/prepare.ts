import { randomInt } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type FieldError, ProblemError } from '@stackquay/contract'
import type { Resolved } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import { type Account, makeGivenFolder } from '@stackquay/engines'
import { newId, type PortLease, type Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { Provision } from '../isolation/provision.ts'
import { servicePorts } from '../ports/held-addresses.ts'
import type { Known, Model } from './model.ts'
import { rememberWriters } from './remember-writers.ts'

export interface PrepareDeps {
  readonly store: Store
  readonly model: Model
  readonly engine: Engine
  readonly config: Config
  readonly provision: Provision
}

/**
 * Gives a project what it lacks to be run: port leases, generated secrets, a folder for its tools. What it has is never
 * changed. Which version is about to write over kept data is remembered first, so that no later change forgets it.
 * `partly`: what stands in the way of one workload is no reason to leave the others alone.
 */
export async function prepareProject(
  id: string,
  deps: PrepareDeps,
  signal: AbortSignal,
  { partly = false }: { readonly partly?: boolean } = {},
): Promise<Known> {
  const known = await provisionProject(id, deps, signal)
  if (!partly) refuseErrors(known.resolved.errors)
  await rememberWriters(known, known.resolved.workloads, deps.store)
  return known
}

/** The same for commands, which start no workload: nothing is about to write over kept data. */
export async function provisionProject(
  id: string,
  { store, model, engine, config, provision }: PrepareDeps,
  signal: AbortSignal,
): Promise<Known> {
  // First: what follows reads its source and makes its folders as this user.
  const account = await provision(id, signal)
  let known = await model.renew(id, 'handedOver')
  // Twice: a runtime may ask for a port only when it knows another.
  for (let round = 0; round < 3 && lacksSomething(known.resolved); round += 1) {
    const { missingLeases, missingSecrets, missingArchives } = known.resolved
    const candidates =
      missingLeases.length === 0 ? [] : await freePorts(store, engine, config, missingLeases.length + 8, signal)
    await store.transaction(async (tx) => {
      for (const { workload, port } of missingLeases) await tx.ports.lease(id, workload, port, candidates)
      for (const { name, length } of missingSecrets) await tx.secrets.put(id, name, randomText(length))
      for (const archive of missingArchives) await tx.archives.begin({ id: newId('arc'), project: id, ...archive })
    })
    known = await model.renew(id)
  }
  await makeToolsFolder(join(config.home, 'tools'), id, account)
  return known
}

/**
 * Virtual environments and caches of the project, outside its source. Caches are never shared: one project could put into another's
 * what that installs next.
 */
async function makeToolsFolder(tools: string, id: string, account: Account | null): Promise<void> {
  await mkdir(tools, { recursive: true, mode: 0o711 })
  await makeGivenFolder(join(tools, id), account, 0o700)
}

/** All that stands in the way at once, as one problem. */
export function refuseErrors(errors: readonly FieldError[]): void {
  const first = errors[0]
  if (first === undefined) return
  const shared = (['unavailable_here', 'engine_cannot'] as const).find((one) =>
    errors.every((error) => error.code === one),
  )
  const code = shared ?? 'validation_failed'
  throw new ProblemError(code, first.detail, { errors })
}

function lacksSomething(resolved: Resolved): boolean {
  const { missingLeases, missingSecrets, missingArchives } = resolved
  return [missingLeases, missingSecrets, missingArchives].some((missing) => missing.length > 0)
}

/** Ports of the range that nobody leased and no program of this machine listens on. */
export async function freePorts(
  store: Store,
  engine: Engine,
  config: Config,
  count: number,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const leased = new Set((await store.ports.all()).map((lease: PortLease) => lease.hostPort))
  const free: number[] = []
  for (let port = config.portRange.from; port <= config.portRange.to && free.length < count; port += 1) {
    if (leased.has(port) || servicePorts(config).includes(port)) continue
    if ((await engine.portOwner(port, signal)) === null) free.push(port)
  }
  return free
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Of letters and digits, so that it needs no quoting anywhere. */
export function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
}
