/** One JSON object per line on standard output, which the control plane has pointed at `proxy.log`. */
export function log(message: string, facts: Readonly<Record<string, unknown>> = {}): void {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), message, ...facts })}\n`)
}
