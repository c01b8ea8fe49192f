import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** Requests per second of `/`, each to the next of so many hosts: `project-1.localhost` and on. */
export function requestsPerSecondToHosts(port: number, hosts: number, seconds: number): Promise<number> {
  const script = join(import.meta.dirname, 'proxy', 'hosts.lua')
  return measure(seconds, ['-s', script, `http://127.0.0.1:${port}/`, '--', String(hosts)])
}

/** Requests per second of one url under 32 connections. Throws when an answer was not a success. */
export function requestsPerSecond(
  url: string,
  seconds: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const lines = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  return measure(seconds, [...lines, url])
}

async function measure(seconds: number, args: readonly string[]): Promise<number> {
  const wrk = spawn('wrk', ['-t1', '-c32', `-d${seconds}s`, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = await Promise.all([text(wrk.stdout), once(wrk, 'exit')])
  const measured = Number(/Requests\/sec:\s+([\d.]+)/.exec(said)?.[1])
  if (/Non-2xx|Socket errors/.test(said) || !(measured > 0)) throw new Error(`Requests failed:\n${said}`)
  return measured
}

export function requireWrk(): void {
  if (spawnSync('which', ['wrk']).status === 0) return
  throw new Error('Missing: wrk. Install with: apt-get install -y --no-install-recommends wrk')
}
