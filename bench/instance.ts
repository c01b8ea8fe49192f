import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Service, type ServiceOptions, startService } from '../e2e/support/service.ts'
import { root } from './command.ts'

export const projectCount = 50

/** A service as `npm start` has it, whose memory is that of the product; `tools/run/start.mjs` of the checkout says the rest. */
export function asStarted(): { readonly through: () => readonly string[]; readonly env: Record<string, string> } {
  const argv = ['/bin/sh', '-c', 'exec "$0" --max-semi-space-size=4 --expose-gc "$@"']
  const cache = join(root, 'node_modules', '.cache', 'compile')
  const env = { MALLOC_ARENA_MAX: '2', NODE_DISABLE_COMPILE_CACHE: '1', NODE_COMPILE_CACHE: cache }
  return { through: () => argv, env }
}

/** Acts on a service of its own, which is ended and removed afterwards. */
export async function withService<T>(act: (service: Service) => Promise<T>, options: ServiceOptions = {}): Promise<T> {
  const service = await startService(options)
  try {
    return await act(service)
  } catch (error) {
    // Ending the service may fail too, and would hide it.
    console.error(error, service.output())
    throw error
  } finally {
    await service.close()
  }
}

/** Fifty stopped projects of the kinds people have: two runtimes, a database in every fifth. */
export async function makeProjects({ client }: Service): Promise<void> {
  for (let index = 1; index <= projectCount; index += 1) {
    const body = {
      name: `Project ${index}`,
      template: index % 2 === 0 ? 'express' : 'static',
      start: false,
      ...(index % 5 === 0 ? { databases: { main: { type: 'postgresql' } } } : {}),
    }
    const { operation } = await client.call('createProject', { body, query: { wait: 60 } })
    if (operation?.state !== 'succeeded')
      throw new Error(`Project ${index} was not created: ${JSON.stringify(operation)}`)
  }
}

export function proxyPid(home: string): number {
  return (JSON.parse(readFileSync(join(home, 'proxy', 'proxy.json'), 'utf8')) as { pid: number }).pid
}

/** What a process has used so far, with all its threads; exact to ten milliseconds. */
export function cpuMilliseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the program's name and may hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

export interface Resident {
  readonly all: number
  /** Of it: memory of its own, without the mapped program file that all processes of one Node share. */
  readonly own: number
}

/** In megabytes. */
export function residentMemory(pid: number): Resident {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const megabytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024
  return { all: megabytes('VmRSS'), own: megabytes('RssAnon') }
}
