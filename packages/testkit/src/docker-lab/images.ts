import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * The images of the lab. What Debian 12 has stands in for the official builds: the same user, environment, volumes, ports
 * and paths. Each is made from `images/<name>/Dockerfile`.
 */
export const images = {
  debian: 'debian:bookworm-slim',
  redis: 'redis:7.0',
  memcached: 'memcached:1.6',
  postgres: 'postgres:15',
  mariadb: 'mariadb:10.11',
  rabbitmq: 'rabbitmq:3.10',
  nginx: 'nginx:1.22',
  node: 'node:26',
  python: 'python:3.11',
  golang: 'golang:1.19',
  ruby: 'ruby:3.1',
  php: 'php:8.2-fpm',
} as const

export type ImageName = keyof typeof images

/** An image made on one of the lab's, by a Dockerfile that begins with `ARG BASE`. The tag is made of its content. */
export interface BuiltImage {
  readonly tag: string
  readonly base: ImageName
  readonly folder: string
}

export type LabImage = ImageName | BuiltImage

export function referenceOf(image: LabImage): string {
  return typeof image === 'string' ? images[image] : image.tag
}

export const imageNames = Object.keys(images) as readonly ImageName[]

/** Made by debootstrap, not from a Dockerfile; all others are made on it. */
export const baseName = 'debian' satisfies ImageName

export function folderOf(name: ImageName): string {
  return fileURLToPath(new URL(`images/${name}/`, import.meta.url))
}

/** Another recipe has another hash: the image is made anew, and so is what is made on it. */
export function recipeOf(image: LabImage): string {
  return typeof image === 'string' ? recipeOfName(image) : `${image.tag} on ${recipeOfName(image.base)}`
}

function recipeOfName(name: ImageName): string {
  const hash = createHash('sha256')
    .update(images[name])
    .update(readFileSync(new URL('build.ts', import.meta.url)))
  if (name === baseName) return hash.digest('hex')
  if (name === 'node') hash.update(process.version)
  for (const file of readdirSync(folderOf(name)).sort())
    hash.update(file).update(readFileSync(`${folderOf(name)}${file}`))
  return hash.update(recipeOf(baseName)).digest('hex')
}
