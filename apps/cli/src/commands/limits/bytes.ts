import { usageError } from '../../errors.ts'

const units = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 } as const

/** `512M` and `1.5GiB`: in steps of 1024, as everybody means who gives memory to a program. */
export function readBytes(text: string): number {
  const found = /^(\d{1,12}(?:\.\d{1,3})?)\s*([kmgt]?)(?:i?b)?$/i.exec(text)
  if (found === null) throw usageError(`"${text}" is not an amount of memory.`, 'Examples: 512M, 2G, 1.5G')
  return Math.round(Number(found[1]) * units[found[2]!.toLowerCase() as keyof typeof units])
}
