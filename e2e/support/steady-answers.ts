import { setTimeout as delay } from 'node:timers/promises'
import type { Service } from './service.ts'

/** Asks a project through the proxy all the time, one request after the other. */
export function askSteadily(service: Service, slug: string) {
  let ended = false
  let taken: number[] = []
  const failures: string[] = []
  const asking = (async () => {
    while (!ended) {
      const begun = performance.now()
      const answer = await service.get(slug).catch((error: Error) => error)
      if (answer instanceof Error || answer.status !== 200)
        failures.push(answer instanceof Error ? answer.message : String(answer.status))
      else taken.push(performance.now() - begun)
      await delay(4)
    }
  })()
  return {
    failures,
    /** How long each answer took of those that came while this went on. */
    async during(work: Promise<unknown>): Promise<readonly number[]> {
      taken = []
      const mine = taken
      await work
      return mine
    },
    async end() {
      ended = true
      await asking
    },
  }
}

export function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.POSITIVE_INFINITY
}
