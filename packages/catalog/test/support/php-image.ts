import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DockerLab } from '@stackquay/testkit/docker-lab'

/**
 * What our image of PHP serves with, on the lab's PHP, which is Debian's and has no extensions to build. nginx and its
 * libraries are those of the lab's own image: both are of one Debian. `context` is a folder that is not there yet.
 */
export async function buildPhpImage(lab: DockerLab, tag: string, context: string): Promise<void> {
  cpSync(fileURLToPath(new URL('../../../../images/php', import.meta.url)), context, { recursive: true })
  const dockerfile = `FROM ${lab.image('nginx')} AS nginx
FROM ${lab.image('php')}
COPY --from=nginx /usr/sbin/nginx /usr/sbin/nginx
COPY --from=nginx /etc/nginx /etc/nginx
COPY serve-php /usr/local/bin/serve-php
COPY nginx.conf fpm.conf /usr/local/share/serve-php/
RUN chmod 755 /usr/local/bin/serve-php && chmod 644 /usr/local/share/serve-php/*
`
  writeFileSync(join(context, 'Dockerfile'), dockerfile)
  await lab.docker(['build', '--tag', tag, context])
}
