import type { ChosenToolchain } from '../entry-types.ts'

/** A program that a built-in image has in the usual place, in the version that its Dockerfile names. */
export function inImage(program: string): ChosenToolchain {
  return { version: '', program: `/usr/local/bin/${program}`, directory: '/usr/local/bin' }
}
