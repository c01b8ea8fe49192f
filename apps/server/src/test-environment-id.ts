/** Whether what the engine calls a project is the data of a test run. */
export function isTestEnvironment(id: string): boolean {
  return id.startsWith('run_')
}
