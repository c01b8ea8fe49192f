import type { FastifyInstance } from 'fastify'
import { createHttpApp } from '../http/app.ts'
import { securePage } from '../http/tls/secure-page.ts'
import { mountMcp } from '../mcp/route.ts'
import { version } from '../version.ts'
import { builtPage } from './built-page.ts'
import type { AppContext } from './context.ts'
import { createHandlers, type HandlersDeps } from './handlers.ts'

/** The API and the page. Does not listen yet. */
export function openHttp(deps: HandlersDeps, context: AppContext): FastifyInstance {
  const { authenticator, denied } = deps.access
  const { config, log } = context
  const app = createHttpApp({
    ...createHandlers(deps, context),
    store: deps.instance.store,
    settings: {
      version,
      listenHost: config.listen.host,
      baseUrl: config.publicUrl,
      trustedProxies: () => config.trustedProxies,
    },
    authenticator,
    denied,
    webFolder: builtPage(),
    log,
    mount: mountMcp({ store: deps.instance.store, version, onError: context.onError }),
  })
  securePage(app, deps.certificates.page)
  return app
}
