import type { UpgradeLook } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import { type DatabaseUpgrade, type DatabaseVersion, databasePart, type PlacedAnew } from '@stackquay/domain'
import type { StepContext, Work, WorkStep } from '@stackquay/orchestrator'
import { bytesText, requireRoomForData } from '../backups/free-room.ts'
import { openBackup } from '../backups/open-backup.ts'
import { carryOver, runUpgrade } from '../upgrades/run-upgrade.ts'
import { workloadOf } from '../upgrades/upgrade-plan.ts'
import { findProject, type OperationDeps } from './operation-deps.ts'
import { putPart } from './put-back.ts'
import type { Upgrading as UpgradingOf } from './upgrade.ts'
import { noteStage, setVersion, upgradeOf } from './upgrade-undo.ts'

type Upgrading = UpgradingOf<DatabaseVersion>
type Stage = Work['stages'][number]
type Guard = (steps: () => Promise<readonly WorkStep[]>) => Stage

/** From data of the one line to data of the other, in its place, with the specification saying so. */
export function convertStages(
  upgrading: Upgrading,
  deps: OperationDeps,
  carried: Guard,
  exchanged: Guard,
): Work['stages'] {
  return upgrading.change.back === null
    ? forwardStages(upgrading, deps, carried, exchanged)
    : [carried(() => backSteps(upgrading, deps)), exchanged(async () => [exchangeStep(upgrading, null, deps)])]
}

function forwardStages(upgrading: Upgrading, deps: OperationDeps, carried: Guard, exchanged: Guard): Work['stages'] {
  const found: { look: UpgradeLook | null } = { look: null }
  const upgrade = () => upgradeOf(upgrading.operation.project, upgrading.change, deps)
  return [
    carried(async () => beginSteps(upgrading, await upgrade(), found, deps)),
    carried(async () => carrySteps(upgrading, await upgrade(), found.look, deps)),
    exchanged(async () => [exchangeStep(upgrading, await upgrade(), deps)]),
  ]
}

/** The image of the new line is fetched first: what cannot be had must not be missed later. */
function beginSteps(
  { operation, change }: Upgrading,
  upgrade: DatabaseUpgrade,
  found: { look: UpgradeLook | null },
  deps: OperationDeps,
): readonly WorkStep[] {
  const { engine, reveal } = deps
  const pulls = engine
    .plan({ type: 'start', workload: upgrade.next })
    .filter((step) => step.do === 'pull')
    .map(
      (step): WorkStep => ({
        id: step.id,
        title: step.title,
        run: ({ signal, output }) => engine.apply(step, { signal, output, reveal }),
      }),
    )
  const begin: WorkStep = {
    id: 'look',
    title: 'Look at what is there',
    run: async (context) => {
      await noteStage(operation.id, change, 'begun', deps)
      await requireRoomBeside(operation.project, change, upgrade, context, deps)
      if (upgrade.manner === 'anew') found.look = await looked(upgrade, context, deps)
    },
  }
  return [...pulls, begin]
}

async function requireRoomBeside(
  project: string,
  change: Upgrading['change'],
  { manner }: DatabaseUpgrade,
  { signal }: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { engine, store } = deps
  if (manner !== 'anew') return
  const workload = workloadOf(await findProject(store, project), change)
  const size = (await engine.data(project, signal)).find(({ name }) => name === workload)?.sizeBytes ?? 0
  await requireRoomForData(project, size, 'The new data', deps, signal)
}

async function looked(
  upgrade: DatabaseUpgrade & PlacedAnew,
  context: StepContext,
  deps: OperationDeps,
): Promise<UpgradeLook> {
  const look = JSON.parse(await runUpgrade(upgrade, upgrade.look, context, deps)) as UpgradeLook
  const [first] = look.blockers
  if (first === undefined) return look
  for (const text of look.blockers) context.output({ stream: 'stderr', text: `${text}\n` })
  throw new ProblemError('conflict', `${upgrade.old.title} cannot be carried over as it is: ${first}`, {
    hint: 'Nothing was changed. Do what is said, then try again.',
  })
}

function carrySteps(
  { operation, change }: Upgrading,
  upgrade: DatabaseUpgrade,
  look: UpgradeLook | null,
  deps: OperationDeps,
): readonly WorkStep[] {
  if (upgrade.manner === 'in-place') {
    const run: WorkStep['run'] = async (context) => {
      await runUpgrade(upgrade, upgrade.convert, context, deps)
      await noteStage(operation.id, change, 'carried', deps)
    }
    return [{ id: 'convert', title: `Convert the data to version ${change.to}`, run }]
  }
  const transfers = upgrade.transfers(look?.names ?? []).map(
    (transfer, at): WorkStep => ({
      id: `carry:${at}`,
      title: transfer.title,
      run: (context) => carryOver(upgrade, transfer, everySoOften(context), context, deps),
    }),
  )
  const compare: WorkStep = {
    id: 'compare',
    title: 'Compare what was carried over',
    run: async (context) => {
      await compareBoth(upgrade, context, deps)
      await noteStage(operation.id, change, 'carried', deps)
    },
  }
  return [...transfers, compare]
}

/** Nothing takes the place of the old data that is not the same. */
async function compareBoth(
  upgrade: DatabaseUpgrade & PlacedAnew,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const before = await runUpgrade(upgrade, upgrade.count.before, context, deps)
  const after = await runUpgrade(upgrade, upgrade.count.after, context, deps)
  const { difference, compared, uncounted } = upgrade.compare(before, after)
  if (difference !== null)
    throw new ProblemError('job_failed', `What was carried over is not the same: ${difference}.`, {
      hint: 'The version and the data from before are kept.',
    })
  const say = (text: string) => context.output({ stream: 'stdout', text: `${text}\n` })
  say(`The same: ${compared}`)
  if (uncounted.length > 0) say(`Too large to be compared: ${uncounted.join(', ')}`)
}

async function backSteps({ operation, change }: Upgrading, deps: OperationDeps): Promise<readonly WorkStep[]> {
  const id = databasePart(change.database)
  const backup = change.back?.backup ?? ''
  const check: WorkStep['run'] = async ({ signal }) => {
    await deps.backups.folder.check(backup, [id], signal)
    const held = deps.backups.known.find(backup)?.manifest.parts.find((part) => part.id === id)
    await requireRoomForData(operation.project, held?.contentBytes ?? 0, 'What the backup holds', deps, signal)
  }
  const put: WorkStep['run'] = async (context) => {
    const from = await openBackup(backup, [id], deps.backups)
    const part = from.manifest.parts.find((one) => one.id === id)
    if (part === undefined) throw new ProblemError('not_found', `The backup ${backup} does not hold ${id}.`)
    await noteStage(operation.id, change, 'begun', deps)
    await putPart(await findProject(deps.store, operation.project), part, from, context, deps)
    await noteStage(operation.id, change, 'carried', deps)
  }
  return [
    { id: 'check', title: 'Compare the backup with its checksums', run: check },
    { id: 'put', title: `Put the backup ${backup} in its place`, run: put },
  ]
}

/** The new data in its place, and the specification says whose it is. */
function exchangeStep(
  { operation, change }: Upgrading,
  upgrade: DatabaseUpgrade | null,
  deps: OperationDeps,
): WorkStep {
  return {
    id: 'exchange',
    title: `Use the data of version ${change.to}`,
    run: async (context) => {
      if (upgrade?.manner === 'anew') await runUpgrade(upgrade, upgrade.swap, context, deps)
      await setVersion(operation, change, 'to', deps, 'exchanged')
    },
  }
}

function everySoOften({ output }: StepContext): (bytes: number) => void {
  let next = Date.now() + everyMs
  return (bytes) => {
    if (Date.now() < next) return
    next = Date.now() + everyMs
    output({ stream: 'stdout', text: `${bytesText(bytes)} carried over\n` })
  }
}

const everyMs = 2000
