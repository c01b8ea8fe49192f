import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { ImageMapError, imageMapEntries, imageMapOf } from './image-map.ts'

/** The environment cannot be used; every fault in one message. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export function parseKey(text: string): Buffer {
  const trimmed = text.trim()
  const key = /^[0-9a-f]{64}$/i.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64')
  if (key.length !== 32)
    throw new ConfigError('The secret key must be 32 bytes, as base64 or as 64 hexadecimal digits.')
  return key
}

export function readImageMap(value: string | undefined): {
  readonly imageMap: readonly string[]
  readonly imageOf: (reference: string) => string
} {
  const file = value?.startsWith('@') === true ? value.slice(1) : undefined
  try {
    const text = fileText(file, 'STACKQUAY_IMAGE_MAP') ?? value ?? ''
    return { imageOf: imageMapOf(text), imageMap: imageMapEntries(text) }
  } catch (error) {
    if (!(error instanceof ImageMapError)) throw error
    throw new ConfigError(`STACKQUAY_IMAGE_MAP is not valid: ${error.message}`)
  }
}

export function fileText(path: string | undefined, name: string): string | undefined {
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new ConfigError(`${name} names ${path}, which cannot be read: ${(error as Error).message}`)
  }
}

export function absolute(path: string): string {
  return isAbsolute(path) ? resolve(path) : resolve(process.cwd(), path)
}

/** Beside the projects folder. */
export function readRoots(text: string | undefined): readonly string[] {
  const named = text?.split(':').filter((path) => path !== '')
  return named?.map(absolute) ?? (process.getuid?.() === 0 ? ['/home', '/srv', '/var/www'] : [homedir()])
}
