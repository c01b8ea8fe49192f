import type { ApplyContext } from './engine.ts'
import { revealValue } from './value.ts'
import type { Workload } from './workload.ts'

/** The environment as the program gets it, secrets revealed. */
export async function revealAll(
  env: Workload['env'],
  { reveal }: Pick<ApplyContext, 'reveal'>,
): Promise<Readonly<Record<string, string>>> {
  const revealed: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) revealed[name] = await revealValue(value, reveal)
  return revealed
}
