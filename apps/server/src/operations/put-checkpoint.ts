import { dirname } from 'node:path'
import {
  checkpointData,
  checkpointSource,
  checkpointSpec,
  databasePart,
  dataSince,
  isSecretOfCopy,
  localFolders,
  ownNameBlocker,
  secretsOfPart,
  servicePart,
} from '@stackquay/domain'
import { streamOfArchive } from '@stackquay/engine-api'
import { clearTree, FilesError, makeGivenFolder, writeTree } from '@stackquay/engines'
import type { StepContext, WorkStep } from '@stackquay/orchestrator'
import { type CheckpointRow, NoPortError, type ProjectRow, type Transaction } from '@stackquay/store'
import { heldElsewhere, putSettings } from '../backups/put-settings.ts'
import { type CheckpointSettings, openCheckpoint } from '../checkpoints/checkpoint-settings.ts'
import { withPendingSecrets } from '../projects/extract-secrets.ts'
import { isThere } from '../projects/files-of.ts'
import { opensRepository } from '../projects/source-url.ts'
import { findProject, forever, type OperationDeps } from './operation-deps.ts'
import { passing } from './passing.ts'
import { dropData } from './put-back.ts'
import { told } from './take-backup.ts'

/**
 * The steps that put a project back to a checkpoint, while nothing of it runs. Done twice they are the same as done once. Settings come
 * last: `more` is written with them, when everything else is there.
 */
export async function putCheckpointSteps(
  project: string,
  checkpoint: CheckpointRow,
  deps: OperationDeps,
  more: (tx: Transaction) => Promise<void> = async () => {},
): Promise<readonly WorkStep[]> {
  const settings = await openCheckpoint(project, checkpoint, deps.store)
  const held = checkpoint.parts.filter(({ name }) => name !== 'source').map(({ name }) => name)
  const since = dataSince(await deps.engine.dataNames(project, forever), held)
  const hasSource = checkpoint.parts.some(({ name }) => name === 'source')
  return [
    ...since.map(
      (name): WorkStep => ({
        id: `drop:${name}`,
        title: `Take away the data ${name}, which came later`,
        run: (context) => dropData(project, name, context, deps),
      }),
    ),
    ...held.map(
      (name): WorkStep => ({
        id: `put:${name}`,
        title: `Put the data ${name} back`,
        run: (context) => putOne(project, checkpoint.id, name, context, deps),
      }),
    ),
    ...(hasSource
      ? [
          {
            id: 'put:source',
            title: 'Put the source folder back',
            run: (context: StepContext) => putSource(project, checkpoint.id, settings, context, deps),
          },
        ]
      : []),
    {
      id: 'put:settings',
      title: 'Put settings and secrets back',
      run: (context) => putAll(project, settings, since, context, deps, more),
    },
  ]
}

async function putOne(project: string, id: string, name: string, context: StepContext, deps: OperationDeps) {
  await dropData(project, name, context, deps)
  const from = { project, name: checkpointData(id, name) }
  await deps.engine.copyData(from, { project, name }, { onBytes: told(context, 'put back') }, context.signal)
  // It is as it was, also where it was empty: no seed fills it.
  await deps.store.transaction((tx) => tx.seeds.set(project, name, 'done'))
}

/**
 * In its own place, which is never moved: it may be a folder of a person, and a terminal may stand in it. What is made again stays as it is;
 * its installer looks at it when the project starts.
 */
async function putSource(
  project: string,
  id: string,
  { without }: CheckpointSettings,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { signal } = context
  const row = await findProject(deps.store, project)
  const account = await deps.provision(project, signal)
  // Only what lies in the service's own folder can be made there again: a folder above any other may be anybody's.
  const isOurs = dirname(row.path) === deps.config.projectsDir
  if (isOurs && !(await isThere(row.path))) await makeGivenFolder(row.path, account)
  const put = async (except: readonly string[]) => {
    await clearTree(account, row.path, { except, signal })
    const archive = streamOfArchive(deps.engine.readData(project, checkpointSource(id), signal), { mostWaiting })
    await writeTree(account, row.path, passing(archive, told(context, 'put back')), signal)
  }
  await put([...without, ...localFolders]).catch(async (error: unknown) => {
    const isInTheWay = error instanceof FilesError && /^(failed|missing)$/.test(error.code)
    if (!isInTheWay) throw error
    // What stayed stands where something else was: a folder in the place of a file. It is made again.
    await put(localFolders)
  })
}

/** Who owns the project can change what it keeps: what comes in another order than that of its names must not fill the memory. */
const mostWaiting = process.platform === 'linux' ? 64 << 20 : Number.POSITIVE_INFINITY

async function putAll(
  project: string,
  settings: CheckpointSettings,
  since: readonly string[],
  { output }: StepContext,
  deps: OperationDeps,
  more: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const { store, network, model } = deps
  const row = await findProject(store, project)
  const names = Object.keys(await store.secrets.of(project))
  let ports: readonly string[] = []
  const spec = checkpointSpec(row.spec, settings.spec)
  const { domains, lost } = await domainsOf(row, settings, deps)
  const left = await putSettings(row, spec, { ...settings, domains }, store, async (tx) => {
    for (const data of since) {
      await tx.keptData.delete(project, data)
      await tx.ports.release(project, data)
    }
    await putSecrets(tx, row, names, settings)
    await putKeptData(tx, project, settings)
    ports = await putPorts(tx, project, settings)
    await more(tx)
  })
  for (const text of [...lost, ...left, ...ports]) output({ stream: 'stdout', text: `${text}\n` })
  await network.renew(project)
  await model.renew(project)
}

/** Names that became those of another project, for this one was renamed since, are left out like those that another one took. */
async function domainsOf(row: ProjectRow, { domains }: CheckpointSettings, { store, config }: OperationDeps) {
  const own = new Set((await store.network.domains(row.id)).map(({ host }) => host))
  const isLost = ({ host }: { readonly host: string }) =>
    !own.has(host) && ownNameBlocker(host, row.slug, config) !== null
  return {
    domains: domains.filter((one) => !isLost(one)),
    lost: domains.filter(isLost).map(({ host }) => heldElsewhere(host)),
  }
}

/** The data knows the passwords that it was made with. Those of databases that came later go with these. What opens the repository stays as it is. */
async function putSecrets(
  tx: Transaction,
  { id }: ProjectRow,
  names: readonly string[],
  { secrets, spec }: CheckpointSettings,
): Promise<void> {
  const isOther = (name: string) => isSecretOfCopy(name) || opensRepository(name)
  for (const [name, text] of Object.entries(secrets)) if (!isOther(name)) await tx.secrets.put(id, name, text)
  // One that could not be opened for the checkpoint is still of use.
  const needed = new Set([
    ...withPendingSecrets(spec).names,
    ...Object.entries(spec.databases).flatMap(([name, { type }]) => secretsOfPart({ id: databasePart(name), type })),
    ...Object.keys(spec.services).flatMap((type) => secretsOfPart({ id: servicePart(type), type })),
  ])
  for (const name of names)
    if (!isOther(name) && !Object.hasOwn(secrets, name) && !needed.has(name)) await tx.secrets.drop(id, name)
}

async function putKeptData(tx: Transaction, project: string, { keptData }: CheckpointSettings): Promise<void> {
  for (const { name, version, keptAt } of keptData) {
    await tx.keptData.writtenBy(project, name, version)
    await tx.keptData.setKept(project, name, keptAt !== null)
  }
}

/** One that another project has by now becomes another one, as for a new database. */
async function putPorts(tx: Transaction, project: string, { ports }: CheckpointSettings): Promise<readonly string[]> {
  const left: string[] = []
  for (const { workload, port, hostPort } of ports) {
    try {
      const leased = await tx.ports.lease(project, workload, port, [hostPort])
      if (leased !== hostPort) left.push(`The port of ${workload} is ${leased} now, not ${hostPort}.`)
    } catch (error) {
      if (!(error instanceof NoPortError)) throw error
      left.push(`The port ${hostPort} of ${workload} belongs to another project now; it gets another one.`)
    }
  }
  return left
}
