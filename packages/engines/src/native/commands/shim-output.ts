import { createCharacterJoiner } from './characters.ts'
import type { OutputLogWriter } from './output-log-writer.ts'
import type { Keep } from './shim-program.ts'

/** What the program prints, on its way into the output log: no character is cut. */
export interface ShimOutput {
  readonly keep: Keep
  /** When anything was printed last, or something was typed; of `performance.now`. */
  lastActivity(): number
  stir(): void
  /** Writes the begun characters and what is still in memory. */
  finish(): void
}

export function createShimOutput(log: OutputLogWriter): ShimOutput {
  let lastActivity = performance.now()
  const joiners = {
    stdout: createCharacterJoiner(),
    stderr: createCharacterJoiner(),
    terminal: createCharacterJoiner(),
  }
  return {
    keep(stream, bytes) {
      lastActivity = performance.now()
      const whole = joiners[stream].push(bytes)
      if (whole.length > 0) log.write(stream, whole, Date.now())
    },
    lastActivity: () => lastActivity,
    stir() {
      lastActivity = performance.now()
    },
    finish() {
      for (const stream of ['stdout', 'stderr', 'terminal'] as const) {
        const rest = joiners[stream].end()
        if (rest.length > 0) log.write(stream, rest, Date.now())
      }
      log.sync()
    },
  }
}
