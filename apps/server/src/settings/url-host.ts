/** As it stands in a URL: what listens everywhere is reached on this machine as `localhost`. */
export function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
