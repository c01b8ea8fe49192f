import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))
export const modules = join(root, 'node_modules')
export const bin = join(modules, '.bin')
/** The Node of this workspace; everything but this wrapper runs on it. */
export const node = join(bin, 'node')
/** Ignored by git. Locks and stamps that must outlive `npm ci`, which deletes node_modules. */
export const cache = join(root, '.cache')

/** The environment of everything started here: our Node first, and compiled code kept between starts. */
export function childEnv() {
  return {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(modules, '.cache', 'compile'),
  }
}
