export type { ApiAnswer, ApiRequest, Caller, CallOptions } from './caller.ts'
export { createPlans, type Plans } from './plans.ts'
export { createMcpServer, type McpServerDeps } from './server.ts'
export { listedTools } from './tools.ts'
