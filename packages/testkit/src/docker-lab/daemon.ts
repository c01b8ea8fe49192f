import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '../wait-for.ts'
import { runProgram } from './program.ts'

export interface DaemonOptions {
  /** Holds the socket, the state of running containers and the log. Short: a socket's path has at most 107 bytes. */
  readonly folder: string
  readonly dataRoot: string
  /** Programs in it come before those of the machine. */
  readonly binFolder: string
  readonly bridge: string
  /** Two numbers of the addresses that networks get: "10.83" for 10.83.128.0/17. */
  readonly prefix: string
  readonly cgroup: string
  /** More options for `dockerd`. */
  readonly args?: readonly string[]
}

export interface Daemon {
  readonly pid: number
  readonly containerdPid: number
  /** SIGKILL to the daemon and its containerd. Containers run on without them. */
  kill(): Promise<void>
}

export const socketOf = (folder: string) => join(folder, 'docker.sock')
const logOf = (folder: string) => join(folder, 'dockerd.log')

/** Starts `dockerd` with a containerd of its own, and answers when it answers. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { folder } = options
  const log = openSync(logOf(folder), 'a')
  const child = spawn('dockerd', argumentsOf(options), {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, PATH: `${options.binFolder}:${process.env.PATH}` },
  })
  child.unref()
  const closed = once(child, 'exit').catch(() => {})
  const ended = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined
  try {
    await waitFor('dockerd', () => ended() || answers(folder), { timeoutMs: 60_000, everyMs: 50 })
    if (ended()) throw new Error('dockerd ended as it started.')
  } catch (error) {
    child.kill('SIGKILL')
    const tail = readFileSync(logOf(folder), 'utf8').split('\n').slice(-15).join('\n')
    throw new Error(`The Docker daemon of this test did not start:\n${tail}`, { cause: error })
  }
  const containerdPid = Number(readFileSync(join(folder, 'exec/containerd/containerd.pid'), 'utf8'))
  return {
    pid: child.pid!,
    containerdPid,
    async kill() {
      child.kill('SIGKILL')
      await closed
      killQuietly(containerdPid)
      await waitFor('the end of containerd', () => !isRunning(containerdPid))
    },
  }
}

function argumentsOf({ folder, dataRoot, bridge, prefix, cgroup, args = [] }: DaemonOptions): readonly string[] {
  return [
    `--data-root=${dataRoot}`,
    `--exec-root=${join(folder, 'exec')}`,
    `--pidfile=${join(folder, 'dockerd.pid')}`,
    `--host=unix://${socketOf(folder)}`,
    `--bridge=${bridge}`,
    `--default-address-pool=base=${prefix}.128.0/17,size=26`,
    `--cgroup-parent=${cgroup}`,
    '--storage-driver=overlay2',
    // With systemd's driver this test could not remove its control group.
    '--exec-opt=native.cgroupdriver=cgroupfs',
    ...args,
  ]
}

async function answers(folder: string): Promise<boolean> {
  return (await runProgram('docker', ['--host', `unix://${socketOf(folder)}`, 'version'])).code === 0
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended with its parent.
  }
}
