import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ApplyContext, Workload } from '@stackquay/engine-api'
import { expand, makeMentionedData, processEnvironment } from './environment.ts'
import { throwIfAborted } from './errors.ts'
import { endFamily } from './family.ts'
import { exitFile, runDir } from './home.ts'
import { type Confined, type Program, suspectsOf } from './isolation/confine.ts'
import { isFree } from './listening.ts'
import { locate, withLeader } from './locate.ts'
import { withLock } from './lock.ts'
import { openForAppend } from './log-files.ts'
import type { Machine } from './machine.ts'
import { newRunId, runMarker, workloadUnit } from './marker.ts'
import { newLog } from './new-log.ts'
import { conflicts, portInUse, portOwner } from './ports.ts'
import { newRecord, type RunRecord, readRecord, writeRecord } from './record.ts'
import { runTarget } from './run-target.ts'
import { checkProgram, type Spawned, spawnKept } from './spawn.ts'
import { endRun } from './stop.ts'
import type { Supervisor } from './supervisor.ts'
import { missingFile } from './waiting.ts'

/** Starts a workload, unless it runs in this very form already. Never are there two processes of one workload. */
export async function startWorkload(
  machine: Machine,
  supervisor: Supervisor,
  workload: Workload,
  context: ApplyContext,
): Promise<void> {
  await withLock(machine, workload.ref, context.signal, async () => {
    const before = await readRecord(machine.home, workload.ref)
    if (before !== null && (await runsAlready(machine, supervisor, workload, before, context.signal))) return
    const names = workload.data.map((mount) => mount.name)
    await makeMentionedData(machine, workload.ref.project, names)
    const program = {
      argv: workload.run.argv.map((text) => expand(machine, workload.ref.project, text, names)),
      cwd: expand(machine, workload.ref.project, workload.run.cwd, names),
    }
    // A short program looks as the project's user, while another looks for what is waited for and this process for what is left.
    const checked = machine.accounts.of(workload.ref.project).then((account) => checkProgram(program, account))
    checked.catch(() => undefined)
    if (await mustWait(machine, supervisor, workload, before)) return
    await makeRoom(machine, workload, before, context.signal)
    await checked
    throwIfAborted(context.signal)
    await spawnRecorded(machine, supervisor, workload, program, before, context)
  })
}

async function makeRoom(
  machine: Machine,
  workload: Workload,
  before: RunRecord | null,
  signal: AbortSignal,
): Promise<void> {
  await endLeftovers(machine, workload, before, signal)
  for (const binding of workload.ports) {
    if (await isFree(binding.hostPort, binding.bind)) continue
    const owner = portOwner(machine, conflicts(machine, binding))
    throw portInUse(binding, owner ?? { pid: null, program: null, ref: null })
  }
}

/** Equal fingerprint: done. Another one: the old form is ended first. */
async function runsAlready(
  machine: Machine,
  supervisor: Supervisor,
  workload: Workload,
  before: RunRecord,
  signal: AbortSignal,
): Promise<boolean> {
  const leader = locate(machine, before)
  if (leader === null) return false
  const record = withLeader(before, leader) ?? before
  if (record.fingerprint !== workload.fingerprint || record.phase === 'stopping') {
    await endRun(machine, supervisor, record, record.stop, signal)
    return false
  }
  if (record !== before) await writeRecord(machine.home, record)
  await supervisor.watchRun(record, leader, null)
  return true
}

async function mustWait(
  machine: Machine,
  supervisor: Supervisor,
  workload: Workload,
  before: RunRecord | null,
): Promise<boolean> {
  const account = await machine.accounts.of(workload.ref.project)
  if ((await missingFile(account, workload.requires)) === null) return false
  await supervisor.release(workload.ref)
  const record = newRecord(workload, 'waiting', null, before, machine.now())
  await writeRecord(machine.home, record)
  supervisor.watchWaiting(record)
  return true
}

/** Children of an earlier run that outlived it, and exit files that are not needed any more. */
async function endLeftovers(
  machine: Machine,
  workload: Workload,
  before: RunRecord | null,
  signal: AbortSignal,
): Promise<void> {
  const leader = before?.run?.process ?? null
  const target = { ...runTarget(machine, workload.ref), leader, policy: before?.stop ?? workload.stop }
  await endFamily(suspectsOf(machine, workload.ref.project), target, signal)
  // Its counts begin anew with each run.
  target.group?.remove()
  const directory = runDir(machine.home, workload.ref.project)
  for (const name of await readdir(directory)) {
    if (name.startsWith(`${workload.ref.workload}.`) && name.endsWith('.exit'))
      await rm(join(directory, name), { force: true })
  }
}

/** Intent, process, pid: a crash between any two of them leaves something the next start finds. */
async function spawnRecorded(
  machine: Machine,
  supervisor: Supervisor,
  workload: Workload,
  program: Pick<Program, 'argv' | 'cwd'>,
  before: RunRecord | null,
  context: ApplyContext,
): Promise<void> {
  const { ref } = workload
  const confined = await machine.confiner.of(ref.project, workloadUnit(ref), workload.run.limits)

  const id = newRunId()
  const marker = runMarker(machine.home, ref, id)
  const wanted = { env: workload.env, data: workload.data, marker }
  const env = await processEnvironment(machine, ref, confined.account, wanted, context.reveal)
  const files = await newLog(machine, ref)
  await supervisor.release(ref)
  const intent = newRecord(workload, 'starting', { id, marker, log: files.log, process: null }, before, machine.now())
  throwIfAborted(context.signal)
  await writeRecord(machine.home, intent)

  const spawned = await openAndSpawn(machine, intent, confined, { ...program, env }, files).catch(
    async (error: unknown) => {
      await writeRecord(machine.home, { ...intent, phase: 'stopped', run: null })
      throw error
    },
  )
  const record: RunRecord = {
    ...intent,
    phase: 'running',
    run: { id, marker, log: files.log, process: spawned.leader },
  }
  machine.emit({ type: 'started', ref, pid: spawned.leader.pid })
  await Promise.all([supervisor.watchRun(record, spawned.leader, spawned.child), writeRecord(machine.home, record)])
}

async function openAndSpawn(
  machine: Machine,
  intent: RunRecord,
  confined: Confined,
  program: { argv: readonly string[]; cwd: string; env: Record<string, string> },
  files: Awaited<ReturnType<typeof newLog>>,
): Promise<Spawned> {
  const streams = await openForAppend(confined.account, files)
  try {
    const exit = await open(exitFile(machine.home, intent.ref, intent.run?.id ?? ''), 'wx', 0o600)
    try {
      return await spawnKept(machine, confined, program, { out: streams.out.fd, err: streams.err.fd, exit: exit.fd })
    } finally {
      await exit.close()
    }
  } finally {
    await streams.close()
  }
}
