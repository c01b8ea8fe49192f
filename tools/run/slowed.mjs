import { spawn, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import { childEnv, node, root } from './places.mjs'

/** Of the time of all cores together. */
const share = 0.2
const periodUs = 100_000
const MINUTES_MS = 60_000
/** A test that is waited for so long in vain hangs, however slow the machine is. */
const longestTestMs = 60 * MINUTES_MS

/**
 * Runs each file so many times with all its processes slowed to a fifth, one after the other. Answers what happened; what a run printed
 * that failed is appended to `log`. Programs of projects that the service puts into control groups of their own are as fast as ever.
 */
export async function runSlowed(files, times, log) {
  const group = openGroup()
  console.log(
    group === null
      ? 'Slowed by four busy neighbours on one core: no control group with a CPU quota can be made here.'
      : `Slowed by a CPU quota: ${(share * os.cpus().length).toFixed(1)} of ${os.cpus().length} cores.`,
  )
  const rows = []
  try {
    for (const file of files) {
      const row = { file, runs: 0, faults: 0, seconds: 0 }
      rows.push(row)
      for (let time = 1; time <= times; time += 1) {
        const began = performance.now()
        const { code, output } = await runOnce(file, group)
        row.runs += 1
        row.seconds += (performance.now() - began) / 1000
        if (code !== 0) {
          row.faults += 1
          appendFileSync(log, `===== ${file}, run ${time}, exit code ${code}\n${output}\n`)
        }
        console.log(`${code === 0 ? 'passed' : 'FAILED'}  ${file}, ${time} of ${times}`)
      }
    }
  } finally {
    group?.close()
  }
  return rows
}

/** The kernel's own brake, in version 1 or 2; null where we may not make a group. */
function openGroup() {
  const quota = Math.round(share * os.cpus().length * periodUs)
  const places = [
    { parent: '/sys/fs/cgroup/cpu', set: { 'cpu.cfs_period_us': periodUs, 'cpu.cfs_quota_us': quota } },
    { parent: '/sys/fs/cgroup', set: { 'cpu.max': `${quota} ${periodUs}` } },
  ]
  for (const { parent, set } of places) {
    const path = join(parent, `stackquay-slowed-${process.pid}`)
    try {
      if (!existsSync(parent)) continue
      mkdirSync(path)
      for (const [name, value] of Object.entries(set)) writeFileSync(join(path, name), String(value))
      return { procs: join(path, 'cgroup.procs'), close: () => endGroup(path) }
    } catch {
      try {
        rmdirSync(path)
      } catch {
        // It was never made.
      }
    }
  }
  return null
}

/** A daemon that a test left is in it still. */
function endGroup(path) {
  const procs = () => readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)
  for (let round = 0; round < 50 && procs().length > 0; round += 1) {
    for (const pid of procs()) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended meanwhile.
      }
    }
    spawnSync('sleep', ['0.1'])
  }
  rmdirSync(path)
}

/** The process enters the group before it becomes the test, so that everything that it starts is in there too. */
async function runOnce(file, group) {
  const test = [node, '--test', `--test-timeout=${longestTestMs}`, '--test-reporter=spec', file]
  const neighbours = group === null ? busyNeighbours() : []
  const enter = group === null ? 'exec taskset -c 0 "$@"' : `echo $$ > ${group.procs} && exec "$@"`
  const child = spawn('/bin/sh', ['-c', enter, 'sh', ...test], {
    cwd: root,
    env: childEnv(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  try {
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (exit, signal) => resolve(exit ?? signal))
    })
    return { code, output }
  } finally {
    for (const neighbour of neighbours) neighbour.kill('SIGKILL')
  }
}

function busyNeighbours() {
  return Array.from({ length: 4 }, () => spawn('taskset', ['-c', '0', node, '-e', 'for(;;);'], { stdio: 'ignore' }))
}
