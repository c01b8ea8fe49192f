import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { pagePolicy } from './security-headers.ts'

/** Sends the page's start for one of its own addresses; answers false for every other request. */
export type SendPage = (request: FastifyRequest, reply: FastifyReply, path: string) => boolean

/**
 * The built page. Files in `assets/` carry a hash in their names and stay valid for ever; everything else is asked for
 * again with its ETag. Addresses such as `/projects/shop` exist only inside the page, so they all answer its start.
 */
export function serveWebPage(app: FastifyInstance, folder: string): SendPage {
  const assets = join(folder, 'assets')
  app.register(fastifyStatic, {
    root: folder,
    preCompressed: true,
    cacheControl: false,
    allowedPath: (path) => !path.startsWith('/api/'),
    setHeaders: (reply, path) => {
      reply.header('cache-control', path.startsWith(assets) ? 'public, max-age=31536000, immutable' : 'no-cache')
      reply.header('content-security-policy', pagePolicy)
    },
  })
  return ({ method, headers }, reply, path) => {
    const isPage = (method === 'GET' || method === 'HEAD') && !/^\/api(\/|$)/.test(path) && !path.startsWith('/assets/')
    if (!isPage || !(headers.accept ?? '').includes('text/html')) return false
    reply.sendFile('index.html')
    return true
  }
}
