import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface HelperProcess {
  readonly pid: number
  readonly port: number
  stop(): Promise<void>
}

/** A server of this folder in a process of its own. It says its port as the first line, and ends when its input does. */
export async function startHelper(file: string, args: readonly string[]): Promise<HelperProcess> {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const line = once(createInterface(child.stdout), 'line')
  const port = await Promise.race([line.then(([text]) => Number(text)), ended.then(() => Number.NaN)])
  if (!(port > 0)) throw new Error(`${file} did not start.`)
  return {
    pid: child.pid!,
    port,
    stop: async () => {
      child.stdin.end()
      await ended
    },
  }
}

/** The helper's side of it. */
export function sayPort(port: number): void {
  console.log(port)
  process.stdin.resume().once('end', () => process.exit(0))
}
