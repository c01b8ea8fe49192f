import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

/** Requests per second of one url under 32 connections. Throws when an answer was not a success. */
export async function requestsPerSecond(
  url: string,
  seconds: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const lines = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const wrk = spawn('wrk', ['-t1', '-c32', `-d${seconds}s`, ...lines, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = await Promise.all([text(wrk.stdout), once(wrk, 'exit')])
  const measured = Number(/Requests\/sec:\s+([\d.]+)/.exec(said)?.[1])
  if (/Non-2xx|Socket errors/.test(said) || !(measured > 0)) throw new Error(`Requests to ${url} failed:\n${said}`)
  return measured
}

export function requireWrk(): void {
  if (spawnSync('which', ['wrk']).status === 0) return
  throw new Error('Missing: wrk. Install with: apt-get install -y --no-install-recommends wrk')
}
